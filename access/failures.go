package access

import (
	"net/netip"
	"sync"
	"time"
)

// failures bounds how often an address may fail, by the generic cell rate algorithm (ITU-T I.371): each failure moves
// the time at which the address is even again by the interval between two that are allowed, and an address whose time
// lies more than a minute ahead waits.
type failures struct {
	interval time.Duration // between two failures; 0 is without a limit

	mu   sync.Mutex
	even map[netip.Prefix]time.Time // by address, of IPv6 by the network of 64 bits; guarded by mu
}

// maxAddresses bounds the memory of failures: at about 100 bytes an address, some MB.
const maxAddresses = 50_000

// allow sets how many failures in a minute an address may have, 0 for any number. It is called once, before all others.
func (f *failures) allow(perMinute int) {
	if perMinute > 0 {
		f.interval = time.Minute / time.Duration(perMinute)
		f.even = make(map[netip.Prefix]time.Time)
	}
}

// add counts a failure of an address and returns 0. If the address has had too many, it counts nothing and returns how
// long the address must wait.
func (f *failures) add(from netip.Addr, now time.Time) (wait time.Duration) {
	if f.interval == 0 {
		return 0
	}
	key := network(from)
	f.mu.Lock()
	defer f.mu.Unlock()
	even := f.even[key]
	if even.Before(now) {
		even = now
	}
	if wait := even.Sub(now) - (time.Minute - f.interval); wait > 0 {
		return wait
	}
	if len(f.even) >= maxAddresses {
		f.forgetLocked(now)
	}
	f.even[key] = even.Add(f.interval)
	return 0
}

// forgetLocked drops the addresses that are even. If most are not, it drops all: who has so many addresses is not stopped
// by their limit, and looking through them all at each failure would cost more than the failures.
func (f *failures) forgetLocked(now time.Time) {
	for key, even := range f.even {
		if !even.After(now) {
			delete(f.even, key)
		}
	}
	if len(f.even) > maxAddresses/2 {
		clear(f.even)
	}
}

// network returns what counts as one address: a host of IPv6 usually has 2^64 of them.
func network(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{} // of no address
	}
	return p
}
