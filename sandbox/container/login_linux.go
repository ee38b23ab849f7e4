package container

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/distribution/reference"
)

// ClientConfig is the part that we need of Docker's config.json, in which all
// the engines' command lines keep logins.
type ClientConfig struct {
	CurrentContext string `json:"currentContext"`
	Auths          map[string]struct {
		Auth          string `json:"auth"`
		IdentityToken string `json:"identitytoken"`
	} `json:"auths"`
	CredsStore  string            `json:"credsStore"`
	CredHelpers map[string]string `json:"credHelpers"`
}

// ClientConfigDir is the directory of config.json.
func ClientConfigDir(getenv func(string) string) string {
	if dir := getenv("DOCKER_CONFIG"); dir != "" {
		return dir
	}
	return filepath.Join(getenv("HOME"), ".docker")
}

// ReadClientConfig reads config.json. A file that is not there is an empty one.
func ReadClientConfig(getenv func(string) string) (ClientConfig, error) {
	var c ClientConfig
	file := filepath.Join(ClientConfigDir(getenv), "config.json")
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return c, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return c, fmt.Errorf("read %s: %w", file, err)
	}
	return c, nil
}

// Login is what a registry is shown.
type Login struct {
	Registry              string
	Name, Password, Token string
	// Helper is the program that holds the login instead, and is not asked.
	Helper string
}

// Empty says that there is no login.
func (l Login) Empty() bool { return l.Name+l.Password+l.Token == "" }

// Hint goes after the command that fetches an image.
func (l Login) Hint() string {
	if l.Empty() && l.Helper != "" {
		return fmt.Sprintf(" (sbx does not ask the credential helper %q, that command does)", "docker-credential-"+l.Helper)
	}
	return ""
}

// LoginFor is the login for an image's registry that `docker login` stored in
// the open. A file that cannot be read holds none, as for the command lines.
func LoginFor(image string, getenv func(string) string) Login {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return Login{} // a digest: it names no registry
	}
	l := Login{Registry: reference.Domain(named)}
	c, err := ReadClientConfig(getenv)
	if err != nil {
		return l
	}
	key := l.Registry
	if key == "docker.io" {
		key = "https://index.docker.io/v1/"
	}
	l.Helper = cmp.Or(c.CredHelpers[key], c.CredHelpers[l.Registry], c.CredsStore)
	have := c.Auths[key]
	l.Token = have.IdentityToken
	if text, err := base64.StdEncoding.DecodeString(have.Auth); err == nil && len(text) > 0 {
		name, password, _ := strings.Cut(string(text), ":")
		l.Name, l.Password = name, strings.TrimRight(password, "\x00")
	}
	return l
}
