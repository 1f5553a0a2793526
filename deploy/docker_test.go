package deploy

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/prometheus/prometheus/config"
)

func composeProject(t *testing.T) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{"docker/compose.yml"})
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// TestCompose: the file is a Compose file, what it mounts exists, and no port is open to other machines.
func TestCompose(t *testing.T) {
	project := composeProject(t)
	mounts := 0
	for name, service := range project.Services {
		if b := service.Build; b != nil {
			if _, err := os.Stat(filepath.Join(b.Context, b.Dockerfile)); err != nil {
				t.Error(err)
			}
		}
		for _, port := range service.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s publishes %s to %q", name, port.Published, port.HostIP)
			}
		}
		for _, v := range service.Volumes {
			if v.Type != "bind" {
				continue
			}
			mounts++
			if info, err := os.Stat(v.Source); err != nil || !info.Mode().IsRegular() || !v.ReadOnly {
				t.Errorf("%s mounts %s: read-only %v, %v", name, v.Source, v.ReadOnly, err)
			}
		}
	}
	if len(project.Services) != 3 || mounts != 5 {
		t.Errorf("%d services with %d files", len(project.Services), mounts)
	}
}

// TestPrometheusConfiguration: Prometheus reads the file and finds the rules beside it, and its job has the name that they take.
func TestPrometheusConfiguration(t *testing.T) {
	c, err := config.LoadFile("docker/prometheus.yml", false, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.ScrapeConfigs) != 1 || c.ScrapeConfigs[0].JobName != "colonnade" {
		t.Errorf("jobs: %+v", c.ScrapeConfigs)
	}
	targets := map[string]string{}
	for _, v := range composeProject(t).Services["prometheus"].Volumes {
		targets[filepath.Base(v.Source)] = v.Target
	}
	if len(c.RuleFiles) != 1 || filepath.Base(c.RuleFiles[0]) != "alerts.yml" ||
		filepath.Dir(targets["alerts.yml"]) != filepath.Dir(targets["prometheus.yml"]) || filepath.Base(targets["alerts.yml"]) != "alerts.yml" {
		t.Errorf("rules %q, mounts %q", c.RuleFiles, targets)
	}
}
