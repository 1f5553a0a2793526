package widecol

// MaxIdempotencyKey is the largest idempotency key, in bytes.
const MaxIdempotencyKey = 255

// IdempotencyWindowSecs is how many seconds an idempotency key is kept, by the Store's clock.
const IdempotencyWindowSecs = 24 * 60 * 60

// CheckIdempotencyKey returns an error unless key has 1 to MaxIdempotencyKey visible ASCII characters.
func CheckIdempotencyKey(key string) error {
	if len(key) == 0 || len(key) > MaxIdempotencyKey {
		return Errorf(Invalid, "invalid_idempotency_key", "idempotency key has %d bytes, allowed are 1 to %d", len(key), MaxIdempotencyKey)
	}
	for i := 0; i < len(key); i++ {
		if key[i] <= ' ' || key[i] > '~' {
			return Errorf(Invalid, "invalid_idempotency_key", "idempotency key %s has a character that is not visible ASCII", quote(key))
		}
	}
	return nil
}

// IdempotencyKeyReused returns the error for a key of an earlier, different request.
func IdempotencyKeyReused(key string) *Error {
	return Errorf(KeyReused, "idempotency_key_reused", "idempotency key %s was used for a different request: give every request a key of its own", quote(key))
}

// IdempotencyKeyInUse returns the error for a key of a request that is under way.
func IdempotencyKeyInUse(key string) *Error {
	return Errorf(KeyInUse, "idempotency_key_in_use", "a request with the idempotency key %s is under way: try again later to learn what became of it", quote(key))
}
