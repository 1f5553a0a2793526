package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"filippo.io/age"
)

// Keys encrypt and decrypt the content of objects. The zero Keys do neither.
type Keys struct {
	recipients []age.Recipient
	key        string // names the recipients; part of the names of objects for them
	identities []age.Identity
}

// ParseKeys reads recipients, as age has them (age1…), and the text of files with identities (AGE-SECRET-KEY-1…).
func ParseKeys(recipients []string, identities ...string) (*Keys, error) {
	k := new(Keys)
	for _, text := range recipients {
		list, err := age.ParseRecipients(strings.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("recipient %q: must be like age1…, as age-keygen prints it: %w", text, err)
		}
		k.recipients = append(k.recipients, list...)
	}
	for _, text := range identities {
		list, err := age.ParseIdentities(strings.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("must have lines like AGE-SECRET-KEY-1…, as age-keygen writes them: %w", err)
		}
		k.identities = append(k.identities, list...)
	}
	if len(k.recipients) > 0 {
		names := slices.Sorted(slices.Values(recipients))
		sum := sha256.Sum256([]byte(strings.Join(slices.Compact(names), "\n")))
		k.key = hex.EncodeToString(sum[:4])
	}
	return k, nil
}

// encrypted is the end of the names of encrypted objects.
const encrypted = ".age"

// encrypt returns what is stored of content. The caller calls end when it reads no more.
func (k *Keys) encrypt(content io.Reader) (stored io.Reader, end func()) {
	if len(k.recipients) == 0 {
		return content, func() {}
	}
	r, w := io.Pipe()
	go func() {
		out, err := age.Encrypt(w, k.recipients...)
		if err == nil {
			_, err = io.CopyBuffer(struct{ io.Writer }{out}, content, make([]byte, copyBytes))
		}
		if err == nil {
			err = out.Close()
		}
		w.CloseWithError(err)
	}()
	return r, func() { r.Close() }
}

var errNoIdentity = errors.New("it is encrypted: --identity FILE must name the file with the secret key")

// decrypt returns the content of an object.
func (k *Keys) decrypt(object string, stored io.Reader) (io.Reader, error) {
	if !strings.HasSuffix(object, encrypted) {
		return stored, nil
	}
	if len(k.identities) == 0 {
		return nil, errNoIdentity
	}
	r, err := age.Decrypt(stored, k.identities...)
	var none *age.NoIdentityMatchError
	if errors.As(err, &none) {
		return nil, errors.New("it is encrypted for another key than those of --identity")
	}
	return r, err
}
