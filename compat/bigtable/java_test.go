package bigtable

import (
	"os"
	"path/filepath"
	"testing"
)

// TestJava runs testdata/java/Client.java with the Java client of testdata/java/pom.xml.
func TestJava(t *testing.T) { runJava(t, "java", "BIGTABLE_EMULATOR_HOST") }

// TestHBase runs testdata/hbase/Client.java with the HBase API over Bigtable of testdata/hbase/pom.xml. It refuses to work
// with the variable that other clients find an emulator by.
func TestHBase(t *testing.T) { runJava(t, "hbase", "EMULATOR") }

// runJava runs a program with the class path that Maven makes once.
func runJava(t *testing.T, name, variable string) {
	long(t)
	t.Parallel()
	source := filepath.Join("testdata", name)
	dir := prepared(t, name, func(dir string) {
		run(t, source, "mvn", "--batch-mode", "--quiet", "dependency:build-classpath", "-Dmdep.outputFile="+filepath.Join(dir, "classpath"))
	})
	classpath, err := os.ReadFile(filepath.Join(dir, "classpath"))
	if err != nil {
		t.Fatal(err)
	}
	succeeds(t, variable, []string{"java", "-cp", string(classpath), filepath.Join(source, "Client.java")})
}
