package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/load"
)

// connectFlags are the flags of commands that send requests.
type connectFlags struct {
	url       string
	tokenFile string
	ca        string
	cert, key string
}

// tokenVariable has the token to send. There is no flag for it: other users of a machine see the flags of its processes.
const tokenVariable = "COLONNADE_TOKEN"

func (f *connectFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.url, "url", "http://127.0.0.1:9876", "where the server is")
	flags.StringVar(&f.tokenFile, "token-file", "", "file with the token to send; without it "+tokenVariable+" has the token, if one is needed")
	flags.StringVar(&f.ca, "ca", "", "file with the certificates of the authorities to trust, in PEM (default those of the system)")
	flags.StringVar(&f.cert, "cert", "", "file with the certificate to show to the server, in PEM")
	flags.StringVar(&f.key, "key", "", "file with the key of --cert, in PEM")
}

// server returns the server that the flags name. It warns of a token that others could read.
func (f *connectFlags) server(cmd *cobra.Command) (s load.Server, err error) {
	if (f.cert == "") != (f.key == "") {
		return s, usagef("--cert and --key go together")
	}
	s.URL = f.url
	if s.Token, err = f.token(); err != nil {
		return s, err
	}
	if s.Token != "" && f.exposed(cmd.Context()) {
		fmt.Fprintf(cmd.ErrOrStderr(), "colonnade: warning: the token goes to %s without encryption, for all in between to read: use https\n", f.url)
	}
	if f.ca == "" && f.cert == "" {
		return s, nil
	}
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	if f.ca != "" {
		if s.TLS.RootCAs, err = readPool(f.ca); err != nil {
			return s, fmt.Errorf("--ca: %w", err)
		}
	}
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return s, fmt.Errorf("--cert %s with --key %s: %w", f.cert, f.key, err)
		}
		s.TLS.Certificates = []tls.Certificate{pair}
	}
	return s, nil
}

// exposed reports whether what is sent leaves the machine without encryption.
func (f *connectFlags) exposed(ctx context.Context) bool {
	u, err := url.Parse(f.url)
	if err != nil || u.Scheme != "http" {
		return false
	}
	local, err := loopback(ctx, u.Hostname())
	return err == nil && !local
}

// token returns the token to send, or "".
func (f *connectFlags) token() (string, error) {
	if f.tokenFile == "" {
		return strings.TrimSpace(os.Getenv(tokenVariable)), nil
	}
	text, err := os.ReadFile(f.tokenFile)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	fields := strings.Fields(string(text))
	if len(fields) != 1 {
		return "", fmt.Errorf("--token-file %s must have one token and nothing else", f.tokenFile)
	}
	return fields[0], nil
}
