package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
)

// bareRole is the argument that makes this program the bare server.
const bareRole = "bare"

// piece is how much of an answer is written at once, as the server does it.
const piece = 64 << 10

// serveBare serves the bare handler, and says where, until the process is ended.
func serveBare(stdout io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "listening on http://%s\n", l.Addr())
	return http.Serve(l, http.HandlerFunc(bare))
}

// filler is what answers of the bare handler are made of.
var filler = make([]byte, piece)

// bare reads the body and answers as many bytes as the path says.
func bare(w http.ResponseWriter, r *http.Request) {
	size, err := strconv.ParseInt(r.URL.Path[1:], 10, 64)
	if err == nil {
		_, err = io.Copy(io.Discard, r.Body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if size <= piece {
		w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	}
	for size > 0 && err == nil {
		n := min(size, piece)
		_, err = w.Write(filler[:n])
		size -= n
	}
}

// bareCommand runs this program as the bare server.
func bareCommand() (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return exec.Command(self, bareRole), nil
}
