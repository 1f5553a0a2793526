package kill9

import (
	"fmt"
	"maps"
)

// census is how many attempts of each client were done at some moment.
type census [maxClients]int

// census counts what is done.
func (h *history) census() *census {
	h.mu.Lock()
	defer h.mu.Unlock()
	var n census
	for _, a := range h.attempts {
		if a.outcome != unknown {
			n[a.client()]++
		}
	}
	return &n
}

// moment reports unless present is what was there at some moment since a census:
// of each client the first so many attempts, as one follows the other.
func (h *history) moment(present map[string]int64, since *census) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var clients [maxClients]struct{ shown, settled map[string]int64 }
	for i := range clients {
		clients[i].shown, clients[i].settled = make(map[string]int64), make(map[string]int64)
	}
	for key, version := range present {
		client, _ := owner(key)
		clients[client].shown[key] = version
	}
	for key, version := range h.settled {
		client, _ := owner(key)
		clients[client].settled[key] = version
	}
	for i, c := range clients {
		if !h.reaches(i, c.settled, c.shown, since[i]) {
			return fmt.Errorf("it shows no moment of client %d: %v, which began with %v, had %d attempts done, and went on: %v", i, c.shown, c.settled, since[i], h.of(i))
		}
	}
	return nil
}

// reaches reports whether a client's rows, as they were at first, ever come to
// look like shown, after so many of its attempts or more.
func (h *history) reaches(client int, rows, shown map[string]int64, least int) bool {
	for i, a := range h.of(client) {
		if i >= least && maps.Equal(rows, shown) {
			return true
		}
		if a.outcome == refused {
			continue
		}
		for _, key := range a.rows {
			if a.deletes {
				delete(rows, key)
			} else {
				rows[key] = a.version
			}
		}
	}
	return maps.Equal(rows, shown)
}

// of returns the attempts of a client, in order.
func (h *history) of(client int) (list []*attempt) {
	for _, a := range h.attempts {
		if a.client() == client {
			list = append(list, a)
		}
	}
	return list
}

// client returns whose attempt it is.
func (a *attempt) client() int {
	client, _ := owner(a.rows[0])
	return client
}
