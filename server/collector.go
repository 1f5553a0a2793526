package server

import "colonnade/admission"

// collector is where one goroutine appends an answer, or a part of one, with a slot of its own.
type collector struct {
	out []byte // what has not been passed on yet
	admission.Slot
	to receiver
}

// receiver is who gets what is collected.
type receiver interface {
	// pass takes all that is there. It may wait for a client, without its slot.
	pass() error
	// unsent returns why something that was passed could not be sent, if that is known by now.
	unsent() error
}

// flush passes on what is there if it is enough.
func (c *collector) flush() error {
	if len(c.out) < flushSize {
		return nil
	}
	return c.to.pass()
}
