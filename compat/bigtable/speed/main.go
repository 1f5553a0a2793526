// Command speed measures the program, durable in a directory, beside Google's emulator, in memory, with Google's Go client
// and in turns:
//
//	go run ./speed -server ../../bin/colonnade
//
// With -before it measures another version of the program in the place of the emulator.
//
// It prints a table: the medians of the turns, that of their ratios, and the CPU time that the servers and the client take for
// each, which depends less on what else the machine does.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/bttest"
	"google.golang.org/grpc"
)

var (
	program  = flag.String("server", "../../bin/colonnade", "the program")
	before   = flag.String("before", "", "another version of the program, to be measured in place of the emulator")
	rows     = flag.Int("rows", 100_000, "rows of the table that is read, of ten cells each")
	turns    = flag.Int("turns", 5, "how often each is measured")
	duration = flag.Duration("duration", 2*time.Second, "how long a measurement of single rows takes")
	only     = flag.String("only", "", "a regular expression: measure what it matches")
	google   = flag.Bool("google", false, "be Google's emulator")
)

func main() {
	flag.Parse()
	if *google {
		beGoogle()
		return
	}
	if err := compare(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// beGoogle serves as cmd/emulator of the client's module does.
func beGoogle() {
	log.SetOutput(os.Stderr)
	s, err := bttest.NewServer("localhost:0", grpc.MaxRecvMsgSize(256<<20), grpc.MaxSendMsgSize(256<<20))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintln(os.Stderr, "served at address="+s.Addr)
	select {}
}

// server is a process that is measured.
type server struct {
	name   string
	cmd    *exec.Cmd
	client *bigtable.Client
}

var addressPattern = regexp.MustCompile(`served.* address=(\S+)`)

// start starts a server, whose log says its address, and creates the tables.
func start(ctx context.Context, name string, args ...string) (*server, error) {
	s := &server{name: name, cmd: exec.Command(args[0], args[1:]...)}
	logged, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	address := ""
	lines := bufio.NewScanner(logged)
	for address == "" && lines.Scan() {
		if m := addressPattern.FindStringSubmatch(lines.Text()); m != nil {
			address = m[1]
		}
	}
	if address == "" {
		return nil, fmt.Errorf("%s does not start", name)
	}
	go func() {
		for lines.Scan() {
		}
	}()
	os.Setenv("BIGTABLE_EMULATOR_HOST", address)
	if s.client, err = bigtable.NewClientWithConfig(ctx, "p", "i", bigtable.ClientConfig{MetricsProvider: bigtable.NoopMetricsProvider{}}); err != nil {
		return nil, err
	}
	admin, err := bigtable.NewAdminClient(ctx, "p", "i")
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	for _, table := range []string{readTable, writeTable} {
		if err := admin.CreateTableFromConf(ctx, &bigtable.TableConf{TableID: table, ColumnFamilies: map[string]bigtable.Family{"f": {}}}); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// durable is the command line of the program with its data in a directory.
func durable(program, dir string) []string {
	return []string{program, "serve", "--data", dir, "--listen", "127.0.0.1:0", "--bigtable-listen", "127.0.0.1:0"}
}

// startOther starts what the program is measured beside.
func startOther(ctx context.Context, dir string) (*server, error) {
	if *before != "" {
		return start(ctx, "before", durable(*before, dir)...)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return start(ctx, "emulator", self, "-google")
}

func (s *server) stop() {
	s.client.Close()
	s.cmd.Process.Signal(syscall.SIGTERM)
	s.cmd.Wait()
}

func compare(ctx context.Context) error {
	chosen, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "speed")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ours, err := start(ctx, "Colonnade", durable(*program, filepath.Join(dir, "data"))...)
	if err != nil {
		return err
	}
	defer ours.stop()
	theirs, err := startOther(ctx, filepath.Join(dir, "before"))
	if err != nil {
		return err
	}
	defer theirs.stop()

	if measures = slices.DeleteFunc(measures, func(m measure) bool { return !chosen.MatchString(m.name) }); len(measures) == 0 {
		return fmt.Errorf("-only %s matches nothing", *only)
	}
	servers := []*server{ours, theirs}
	for _, s := range servers {
		if err := load(ctx, s.client.Open(readTable), 0, *rows); err != nil {
			return err
		}
	}
	for turn := range *turns {
		for i := range measures {
			for _, s := range servers {
				if err := measures[i].turn(ctx, s, turn); err != nil {
					return fmt.Errorf("%s, %s: %w", s.name, measures[i].name, err)
				}
			}
			log.Printf("turn %d, %s: %s", turn, measures[i].name, measures[i].row(ours.name, theirs.name))
		}
		slices.Reverse(servers)
	}
	fmt.Printf("| a second | %s | %s | times | CPU µs for each | its | the client's |\n|---|--:|--:|--:|--:|--:|--:|\n", ours.name, theirs.name)
	for _, m := range measures {
		fmt.Printf("| %s | %s |\n", m.name, m.row(ours.name, theirs.name))
	}
	return nil
}

// row returns the medians of two servers.
func (m *measure) row(ours, theirs string) string {
	a, b := m.figures[ours], m.figures[theirs]
	ratios := make([]float64, min(len(a), len(b)))
	for i := range ratios {
		ratios[i] = a[i].perSecond / b[i].perSecond
	}
	perSecond := func(f figure) float64 { return f.perSecond }
	cpu := func(f figure) float64 { return f.cpu }
	client := func(f figure) float64 { return f.client }
	return fmt.Sprintf("%s | %s | %.2f | %.1f | %.1f | %.1f", thousands(median(each(a, perSecond))), thousands(median(each(b, perSecond))), median(ratios),
		median(each(a, cpu)), median(each(b, cpu)), median(each(a, client)))
}

func each(list []figure, of func(figure) float64) (values []float64) {
	for _, f := range list {
		values = append(values, of(f))
	}
	return values
}

// ownCPU returns the CPU time that this process has taken.
func ownCPU() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		log.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// cpu returns the CPU time that the server has taken.
func (s *server) cpu() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, err := strconv.Atoi(fields[11])
	if err != nil {
		return 0, err
	}
	system, err := strconv.Atoi(fields[12])
	const tick = time.Second / 100
	return time.Duration(user+system) * tick, err
}

func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

// thousands writes a number with commas.
func thousands(f float64) string {
	text := fmt.Sprintf("%.0f", f)
	var parts []string
	for ; len(text) > 3; text = text[:len(text)-3] {
		parts = append(parts, text[len(text)-3:])
	}
	slices.Reverse(parts)
	return strings.Join(append([]string{text}, parts...), ",")
}
