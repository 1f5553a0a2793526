package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/colonnade-db/colonnade/bigtable"
)

// bigtableClient has the services of a server.
type bigtableClient struct {
	*testing.T
	conn  *grpc.ClientConn
	data  btpb.BigtableClient
	admin adminpb.BigtableTableAdminClient
}

func dialBigtable(t *testing.T, address string) bigtableClient {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return bigtableClient{t, conn, btpb.NewBigtableClient(conn), adminpb.NewBigtableTableAdminClient(conn)}
}

const homeTable = bigtable.DefaultInstance + "/tables/t"

// create creates table t with family f.
func (c bigtableClient) create(ctx context.Context) {
	c.Helper()
	_, err := c.admin.CreateTable(ctx, &adminpb.CreateTableRequest{
		Parent: bigtable.DefaultInstance, TableId: "t", Table: &adminpb.Table{ColumnFamilies: map[string]*adminpb.ColumnFamily{"f": {}}},
	})
	if err != nil {
		c.Fatal(err)
	}
}

func (c bigtableClient) write(ctx context.Context, row, value string) error {
	_, err := c.data.MutateRow(ctx, &btpb.MutateRowRequest{TableName: homeTable, RowKey: []byte(row), Mutations: []*btpb.Mutation{{
		Mutation: &btpb.Mutation_SetCell_{SetCell: &btpb.Mutation_SetCell{FamilyName: "f", ColumnQualifier: []byte("q"), TimestampMicros: 1000, Value: []byte(value)}},
	}}})
	return err
}

// read returns the rows of table t, as text.
func (c bigtableClient) read(ctx context.Context) string {
	c.Helper()
	stream, err := c.data.ReadRows(ctx, &btpb.ReadRowsRequest{TableName: homeTable}, grpc.MaxCallRecvMsgSize(bigtable.MaxMessage))
	if err != nil {
		c.Fatal(err)
	}
	var text []string
	for {
		m, err := stream.Recv()
		if err == io.EOF {
			return strings.Join(text, " ")
		}
		if err != nil {
			c.Fatal(err)
		}
		for _, chunk := range m.Chunks {
			text = append(text, fmt.Sprintf("%s=%s", chunk.RowKey, chunk.Value))
		}
	}
}

// bigtableOf returns the address for Bigtable's clients, as the log says it.
func bigtableOf(s *served) string {
	_, rest, _ := strings.Cut(s.stderr.line("Bigtable's clients are served"), "address=")
	address, _, _ := strings.Cut(rest, " ")
	return address
}

// TestServeBigtable: both protocols have the same tables, also after a kill, and the same tokens, metrics and log.
func TestServeBigtable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	ctx := t.Context()
	serve := func(args ...string) (*served, bigtableClient) {
		s := startServe(t, dir, append([]string{"--bigtable-listen", "127.0.0.1:0"}, args...)...)
		return s, dialBigtable(t, bigtableOf(s))
	}
	s, c := serve()
	c.create(ctx)
	if err := c.write(ctx, "one", "1"); err != nil {
		t.Fatal(err)
	}
	if got := s.call("POST", "/v1/table/t/scan", "{}"); !strings.Contains(got, `"type":"bytes","value":"MQ=="`) {
		t.Errorf("over HTTP: %s", got)
	}
	s.call("POST", "/v1/table/t/write", `{"items": [{"row_key": "two", "cells": [{"column_key": "f:q", "type": "string", "value": "2"}]}]}`)
	s.signal(syscall.SIGKILL)
	s.cmd.Wait()

	s, c = serve()
	if got := c.read(ctx); got != "one=1 two=2" {
		t.Errorf("after a kill: %q", got)
	}
	if h, err := healthpb.NewHealthClient(c.conn).Check(ctx, &healthpb.HealthCheckRequest{}); err != nil || h.Status != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("health: %v, %v", h, err)
	}
	if got := s.call("GET", "/metrics", ""); !strings.Contains(got, `colonnade_requests_total{protocol="bigtable",route="ReadRows",status="0"} 1`) {
		t.Errorf("the metrics do not count the call")
	}
	if code := s.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("code %d:\n%s", code, s.stderr)
	}
}

// TestBigtableIsSeen follows calls down to the log, as part of the trace of their client, and finds their lines in the access log.
func TestBigtableIsSeen(t *testing.T) {
	spans := newReceiver(t)
	s := startServe(t, filepath.Join(t.TempDir(), "data"), "--bigtable-listen", "127.0.0.1:0",
		"--trace-endpoint", spans.URL, "--trace-ratio", "0", "--access-log", "-")
	c := dialBigtable(t, bigtableOf(s))
	c.create(t.Context())
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", "00-"+trace+"-"+parent+"-01")
	if err := c.write(ctx, "secret", "secret"); err != nil {
		t.Fatal(err)
	}
	if got := c.read(ctx); got != "secret=secret" {
		t.Errorf("got %q", got)
	}
	if _, err := c.data.MutateRow(ctx, &btpb.MutateRowRequest{TableName: bigtable.DefaultInstance + "/tables/none", RowKey: []byte("r")}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a write of nothing: %v", err)
	}
	if code := s.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("code %d:\n%s", code, s.stderr)
	}
	want := map[string]int{
		"google.bigtable.v2.Bigtable/MutateRow(commit(enter log sync) wait for a slot)": 1,
		"google.bigtable.v2.Bigtable/ReadRows(wait for a slot)":                         1,
		"google.bigtable.v2.Bigtable/MutateRow(wait for a slot)":                        1,
	}
	if got := spans.trees(parent); !maps.Equal(got, want) {
		t.Errorf("in the trace of the client: %v, want %v", got, want)
	}
	for _, line := range []string{
		"route=CreateTable table=t status=OK",
		"address=127.0.0.1 method=gRPC route=MutateRow table=t status=OK",
		"rows=1 cells=1",
		"route=ReadRows table=t status=OK",
		"route=MutateRow table=none status=InvalidArgument",
		"trace_id=" + trace,
	} {
		if !strings.Contains(s.stderr.String(), line) {
			t.Errorf("the access log has no %q:\n%s", line, s.stderr)
		}
	}
	for _, span := range spans.spans {
		if strings.Contains(span.String(), "secret") {
			t.Errorf("a span has something of a row: %.500s", span)
		}
	}
	if strings.Contains(s.stderr.String(), "secret") {
		t.Errorf("the log has something of a row:\n%s", s.stderr)
	}
}

// TestServeBigtableTokens: calls need a token that allows them, and the audit log has those that are refused.
func TestServeBigtableTokens(t *testing.T) {
	dir := t.TempDir()
	tokens, audit := filepath.Join(dir, "tokens.json"), filepath.Join(dir, "audit.log")
	token := func(scope string) context.Context {
		got := runLine("", "token", "create", "--tokens", tokens, "--scope", scope, "--name", scope)
		if got.code != 0 {
			t.Fatal(got.stderr)
		}
		return metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+strings.TrimSpace(got.stdout))
	}
	admin, read := token("admin"), token("read")
	s := startServe(t, filepath.Join(dir, "data"), "--bigtable-listen", "127.0.0.1:0", "--tokens", tokens, "--audit-log", audit)
	c := dialBigtable(t, bigtableOf(s))
	c.create(admin)
	if err := c.write(read, "one", "1"); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a write with a token for reads: %v", err)
	}
	if err := c.write(t.Context(), "one", "1"); status.Code(err) != codes.Unauthenticated {
		t.Errorf("a write without a token: %v", err)
	}
	if err := c.write(admin, "one", "1"); err != nil {
		t.Error(err)
	}
	if got := c.read(read); got != "one=1" {
		t.Errorf("read %q", got)
	}
	if code := s.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("code %d:\n%s", code, s.stderr)
	}
	log, err := os.ReadFile(audit)
	if err != nil {
		t.Fatal(err)
	}
	text := string(log)
	for _, want := range []string{`"msg":"schema_change","address":"127.0.0.1","method":"CreateTable"`, `"token_name":"read"`, `"code":"PermissionDenied"`, `"code":"Unauthenticated"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the audit log lacks %s:\n%s", want, text)
		}
	}
}

// TestEmulator: it prints where it is, serves, and ends at a signal; with a directory it keeps its tables.
func TestEmulator(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for _, run := range []struct {
		args []string
		want string
	}{{nil, "one=1"}, {[]string{"--data", dir}, "one=1"}, {[]string{"--data", dir}, "one=1 two=2"}, {nil, "one=1"}} {
		cmd := program(append([]string{"emulator", "--port", "0"}, run.args...)...)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill() })
		line, _ := bufio.NewReader(out).ReadString('\n')
		address, ok := strings.CutPrefix(strings.TrimSpace(line), "export BIGTABLE_EMULATOR_HOST=")
		if !ok {
			t.Fatalf("first line %q", line)
		}
		c := dialBigtable(t, address)
		row, value := "one", "1"
		if run.want == "one=1" {
			c.create(t.Context())
		} else {
			row, value = "two", "2"
		}
		if err := c.write(t.Context(), row, value); err != nil {
			t.Fatal(err)
		}
		if got := c.read(t.Context()); got != run.want {
			t.Errorf("%v: read %q, want %q", run.args, got, run.want)
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", run.args, err)
		}
	}
}

// TestBigtableMistakes: what is refused says what to do.
func TestBigtableMistakes(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"--bigtable-listen 8086", "--bigtable-listen 8086: must be HOST:PORT"},
		{"--bigtable-listen 0.0.0.0:8086", "can be reached from other machines, so it needs tokens"},
		{"--bigtable-instance mine", "must be a name such as projects/PROJECT/instances/INSTANCE"},
	} {
		if got := runLine("", append([]string{"config"}, strings.Fields(test.args)...)...); got.code != exitUsage || !strings.Contains(got.stderr, test.want) {
			t.Errorf("%s: %+v", test.args, got)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for _, args := range [][]string{
		{"emulator", "--port", port},
		{"serve", "--data", filepath.Join(t.TempDir(), "data"), "--listen", "127.0.0.1:0", "--bigtable-listen", l.Addr().String()},
	} {
		if got := runLine("", args...); got.code != exitFailed || !strings.Contains(got.stderr, "address already in use: another process listens there: stop it, or choose another port") {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

// TestServeBigtableConnections: connections of both protocols are counted together, and one that has said nothing gives
// its place to a new one, whatever it was for.
func TestServeBigtableConnections(t *testing.T) {
	s := startServe(t, filepath.Join(t.TempDir(), "data"), "--bigtable-listen", "127.0.0.1:0", "--max-connections", "2")
	address := bigtableOf(s)
	dialTCP := func(address string) net.Conn {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	closed := func(what string, c net.Conn) {
		c.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s stays open", what)
		}
	}
	first := dialBigtable(t, address)
	first.create(t.Context())
	web := dialTCP(strings.TrimPrefix(s.url, "http://"))
	io.WriteString(web, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if _, err := web.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	closed("a third connection, for HTTP,", dialTCP(strings.TrimPrefix(s.url, "http://")))
	if err := dialBigtable(t, address).write(t.Context(), "r", "v"); status.Code(err) != codes.Unavailable {
		t.Errorf("a third connection, for gRPC: %v", err)
	}
	web.Close()
	var silent net.Conn
	for { // until the server has seen that
		silent = dialTCP(address)
		silent.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := silent.Read(make([]byte, 1)); err == nil {
			break // the server has begun to talk: it has its place
		}
	}
	if err := dialBigtable(t, address).write(t.Context(), "r", "v"); err != nil {
		t.Errorf("beside a silent one: %v", err)
	}
	closed("the silent one", silent)
	if err := first.write(t.Context(), "r", "v"); err != nil {
		t.Errorf("the first one: %v", err)
	}
}
