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

// ErrSecretKey is that a secret key was given as a recipient. Its value must not be shown.
var ErrSecretKey = errors.New("a secret key was given as a recipient, which is the public key, age1…, that age-keygen prints")

// ParseKeys reads recipients, as age has them (age1…), and the text of files with identities (AGE-SECRET-KEY-1…).
func ParseKeys(recipients []string, identities ...string) (*Keys, error) {
	k := new(Keys)
	for _, text := range recipients {
		if strings.HasPrefix(strings.ToUpper(text), "AGE-SECRET-KEY-") {
			return nil, ErrSecretKey
		}
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

// Without the right identity an object cannot be decrypted, but may be whole.
var (
	errNoIdentity    = errors.New("it is encrypted: --identity FILE must name the file with the secret key")
	errOtherIdentity = errors.New("it is encrypted for another key than those of --identity: name the file with the right secret key")
)

// closed reports whether an error is for want of the right identity.
func closed(err error) bool { return errors.Is(err, errNoIdentity) || errors.Is(err, errOtherIdentity) }

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
		return nil, errOtherIdentity
	}
	return r, err
}
