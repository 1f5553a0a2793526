//go:build !linux

package cores

func yieldThread() {}
