// Package quota bounds what a table or the holder of a token may use: rows and bytes a second, and bytes of storage. It
// stands below every front end, as package admission does, which bounds what all requests use together.
//
//	Control.Admit     before a request: nil, or a *Refusal with the time to wait
//	Control.Charge    after it: what it has really used
//	Control.Storage   how many bytes a table may have
//
// A Gate has the Control in force, for all front ends.
//
// What a request will use is not known before it has run. So it is admitted while its balance is not negative, and pays
// afterwards: a large scan drives the balance far below zero, and later requests wait until the rate has made up for it.
// A balance holds at most what the rate gives in a second, and owes at most what it gives in an hour.
package quota
