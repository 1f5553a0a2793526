package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
)

// certificates are the files of a server with TLS.
type certificates struct {
	cert, key string
	clientCA  string // "" for clients without certificates
	current   atomic.Pointer[tls.Config]
}

// load reads the files and puts them in force, for connections from now on. If it fails, what was in force stays.
func (c *certificates) load() error {
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return fmt.Errorf("--tls-cert %s with --tls-key %s: %w", c.cert, c.key, err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if c.clientCA != "" {
		if config.ClientCAs, err = readPool(c.clientCA); err != nil {
			return fmt.Errorf("--tls-client-ca: %w", err)
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	c.current.Store(config)
	return nil
}

// config returns the configuration for listening. It gives each client what was loaded last, so load comes before.
func (c *certificates) config() *tls.Config {
	config := c.current.Load().Clone()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.current.Load(), nil }
	return config
}

// paths are those of the files.
func (c *certificates) paths() []string {
	paths := []string{c.cert, c.key}
	if c.clientCA != "" {
		paths = append(paths, c.clientCA)
	}
	return paths
}

// readPool reads a file of certificates of authorities.
func readPool(path string) (*x509.CertPool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, errors.New(path + " has no certificate in PEM")
	}
	return pool, nil
}
