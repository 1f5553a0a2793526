package main

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/colonnade-db/colonnade/access"
	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/tokenfile"
)

// defaultTokens is the default token file of the token commands. serve has none: without --tokens it has no access
// control.
const defaultTokens = "./colonnade-tokens.json"

// tokensVariable is the environment variable for --tokens.
const tokensVariable = "COLONNADE_TOKENS"

func newToken() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make, list and revoke the tokens that clients need",
		Long: `Token keeps a file of tokens, for serve --tokens. A client sends its token with
each request:

  Authorization: Bearer cln_k3vq7yfa_…

The file has no tokens, but their SHA-256 sums. A running server takes over a
changed file within two seconds.`,
		Example: `  colonnade token create --scope write --table 'web*' --name crawler --expires 90d
  colonnade serve --tokens colonnade-tokens.json`,
	}
	needsCommand(cmd)
	var path string
	cmd.PersistentFlags().StringVar(&path, "tokens", cmp.Or(os.Getenv(tokensVariable), defaultTokens), "file of tokens; also "+tokensVariable)
	cmd.AddCommand(newTokenCreate(&path), newTokenList(&path), newTokenRevoke(&path))
	return cmd
}

func newTokenCreate(path *string) *cobra.Command {
	var scope, name, expires string
	var tables []string
	cmd := &cobra.Command{
		Use:   "create --scope read|write|admin",
		Short: "Make a token, and print it",
		Long: `Create adds a token to the file, and makes the file if there is none. It prints
the token to standard output. The token cannot be shown again.

A scope allows:
  read   reading rows, and what tables there are
  write  that, and changing rows
  admin  that, and creating, changing and deleting tables and column families`,
		Example: `  colonnade token create --scope read
  colonnade token create --scope write --table 'web*' --table log --name crawler --expires 90d`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			now := time.Now()
			token := access.Token{Name: name, Tables: tables, Created: now}
			if scope == "" {
				return usagef("--scope is missing: read, write or admin")
			}
			var err error
			if token.Scope, err = access.ParseScope(scope); err != nil {
				return usagef("--scope: %w", err)
			}
			for _, pattern := range tables {
				if err := checkTablePattern(pattern); err != nil {
					return usagef("--table %q: %w", pattern, err)
				}
			}
			if token.Expires, err = expiry(expires, now); err != nil {
				return err
			}
			return createToken(cmd, *path, token)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&scope, "scope", "", "what the token allows: read, write or admin (required)")
	flags.StringArrayVar(&tables, "table", []string{"*"}, "name of a table that the token is for, with * for any characters; may be repeated")
	flags.StringVar(&name, "name", "", "who has the token, for listings and logs")
	flags.StringVar(&expires, "expires", "never", "time from now on that the token is valid, such as 90d, 12h or 30m")
	return cmd
}

// expiry returns when a token expires, the zero time for never.
func expiry(text string, now time.Time) (time.Time, error) {
	if text == "never" {
		return time.Time{}, nil
	}
	wrong := usagef("--expires %q is neither never nor a time such as 90d, 12h or 30m, up to 36500d", text)
	var d time.Duration
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 32)
		if err != nil || n > 36500 {
			return time.Time{}, wrong
		}
		d = time.Duration(n) * 24 * time.Hour
	} else {
		var err error
		if d, err = time.ParseDuration(text); err != nil || d > 36500*24*time.Hour {
			return time.Time{}, wrong
		}
	}
	if d < time.Second {
		return time.Time{}, wrong
	}
	return now.Add(d), nil
}

func createToken(cmd *cobra.Command, path string, wanted access.Token) error {
	token, secret, err := access.NewToken(rand.Reader, wanted)
	if err != nil {
		return usageError{err}
	}
	err = tokenfile.Update(path, func(all *access.Tokens) (*access.Tokens, error) { return all.With(token) })
	if err != nil {
		return unwritable(path, err)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "token %s in %s allows %s of tables %s and %s; keep it: it cannot be shown again\n",
		token.ID, path, token.Scope, strings.Join(token.Tables, ", "), validity(token))
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), secret); err != nil {
		return fmt.Errorf("the token could not be printed, so nobody has it: colonnade token revoke --tokens %s %s removes it: %w", path, token.ID, err)
	}
	return nil
}

func validity(t *access.Token) string {
	if t.Expires.IsZero() {
		return "never expires"
	}
	return "expires at " + t.Expires.Format(time.RFC3339)
}

func newTokenList(path *string) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the tokens of the file",
		Long:    "List prints a line for each token of the file: its id, scope, tables, when it was made and when it expires, and its name.",
		Example: "  colonnade token list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tokens, err := tokenfile.Read(*path)
			if err != nil {
				return noTokens(*path, err)
			}
			now := time.Now()
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
			fmt.Fprintln(w, "ID\tSCOPE\tTABLES\tCREATED\tEXPIRES\tNAME")
			for _, t := range tokens.All() {
				expires := "never"
				if !t.Expires.IsZero() {
					expires = t.Expires.Format(time.RFC3339)
				}
				if t.Expired(now) {
					expires += " (expired)"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, t.Scope, strings.Join(t.Tables, ","), t.Created.Format(time.RFC3339), expires, t.Name)
			}
			return w.Flush()
		},
	}
}

func newTokenRevoke(path *string) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID...",
		Short: "Remove tokens from the file",
		Long: `Revoke removes tokens from the file, all or none. A running server refuses them
within two seconds; requests under way go on.`,
		Example: "  colonnade token revoke k3vq7yfa",
		Args:    arguments(1, -1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			if _, err := tokenfile.Read(*path); err != nil {
				return noTokens(*path, err) // before Update makes a file
			}
			return tokenfile.Update(*path, func(tokens *access.Tokens) (*access.Tokens, error) {
				for _, id := range ids {
					if parts := strings.Split(id, "_"); len(parts) == 3 { // it must not be shown
						return nil, fmt.Errorf("a token was given in place of its id, which is %s: nothing was revoked", parts[1])
					}
					rest, ok := tokens.Without(id)
					if !ok {
						return nil, fmt.Errorf("%s has no token %q: colonnade token list shows them, and nothing was revoked", *path, id)
					}
					tokens = rest
				}
				return tokens, nil
			})
		},
	}
}

// unwritable says what to do about a token file that cannot be made or changed.
func unwritable(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: make the directory of %s first", err, path)
	}
	return noTokens(path, err)
}

// noTokens says how to make a token file, if that is what is missing.
func noTokens(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no token file %s: colonnade token create --tokens %s --scope admin makes one", path, path)
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: a token file is for its owner alone: be the user of the server, or root", err)
	}
	return err
}
