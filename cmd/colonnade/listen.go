package main

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// listen listens on the address of an option. Its error says what to do.
func listen(option, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	advice := ""
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		advice = ": another process listens there: stop it, or choose another port"
	case errors.Is(err, syscall.EACCES):
		advice = ": ports below 1024 are for root, or for a process with CAP_NET_BIND_SERVICE: choose another port"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		advice = ": this machine has no such address"
	}
	return nil, fmt.Errorf("%s: %w%s", option, err, advice)
}
