// Package admission decides which requests may work, on how much memory, and until when. It
// stands below every front end, so that all protocols share one set of limits.
//
// Connections bounds the connections. A request on one goes through these steps:
//
//	Control.Enter        counts it as under way, unless the server is shutting down
//	Request.Charge       takes the bytes of its body from the budget of all requests
//	Request.Begin        waits for a slot of its class, or is refused
//	  Slot.Release       while it waits for its client, so that a slow client blocks no other
//	  Slot.Reacquire
//	  Slot.Step          now and then in long loops, so that short requests get in between
//	Request.Close        gives everything back
//
// A refused request has changed nothing. Its error is a *Refusal, which says when to try again.
package admission
