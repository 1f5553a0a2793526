package lin

import "sync"

// sent is an operation on its way.
type sent struct {
	input
	key    string // for idempotency, empty for none
	again  bool   // it was sent before, and nobody knows what became of it
	late   *life  // in which it was sent so
	client int
	call   int64
}

// again is how seldom a client sends an operation again, of those that are to be: others
// should see what the first request did, and change it, before the second comes.
const again = 8

// unanswered are operations with a key that have no answer yet.
type unanswered struct {
	mu   sync.Mutex
	list []sent
}

func (u *unanswered) put(s sent) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.list = append(u.list, s)
}

// take takes the oldest out, if there is one.
func (u *unanswered) take() (s sent, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.list) == 0 {
		return sent{}, false
	}
	s, u.list = u.list[0], u.list[1:]
	return s, true
}
