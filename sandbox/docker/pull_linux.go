package docker

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/distribution/reference"
	"github.com/moby/moby/client"

	"github.com/sbx-run/sbx/sandbox"
)

// puller is the part of an engine that fetches images.
type puller interface {
	ImagePull(ctx context.Context, name string, o client.ImagePullOptions) (client.ImagePullResponse, error)
}

// pull fetches an image and shows how far it is.
func (b *Backend) pull(ctx context.Context, e puller, image string, never bool) error {
	absent := func(why error) error {
		return b.notStarted("", fmt.Errorf("the image %s is not here (%w): fetch it with `%s pull %s`, or load it with `%s load -i FILE`",
			image, why, b.engine, image, b.engine))
	}
	if never {
		return absent(errors.New("and is not to be fetched"))
	}
	answer, err := e.ImagePull(ctx, image, client.ImagePullOptions{RegistryAuth: b.registryAuth(image)})
	if err != nil {
		return absent(short(err))
	}
	defer answer.Close()
	show := newProgress(b.options.Progress, image)
	defer show.end()
	for m, err := range answer.JSONMessages(ctx) {
		if err != nil {
			return absent(short(err))
		}
		if m.Error != nil {
			return absent(short(m.Error))
		}
		if m.Progress != nil && m.ID != "" {
			show.layer(m.ID, m.Status, m.Progress.Current, m.Progress.Total)
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: pull %s: %w: %w", b.engine, image, err, sandbox.ErrStart)
	}
	return nil
}

// short keeps the last and most telling part of an engine's sentence.
func short(err error) error {
	text := strings.TrimPrefix(err.Error(), "Error response from daemon: ")
	return errors.New(strings.TrimSpace(strings.ReplaceAll(text, "\n", " ")))
}

// registryAuth is the login that `docker login` stored in the open. One behind a
// credential helper is not looked up: `docker pull` does that.
func (b *Backend) registryAuth(image string) string {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return ""
	}
	c, err := b.clientConfig()
	if err != nil {
		return ""
	}
	domain := reference.Domain(named)
	key := domain
	if domain == "docker.io" {
		key = "https://index.docker.io/v1/"
	}
	have, ok := c.Auths[key]
	if !ok {
		return ""
	}
	login := map[string]string{"serveraddress": domain}
	if have.IdentityToken != "" {
		login["identitytoken"] = have.IdentityToken
	}
	if text, err := base64.StdEncoding.DecodeString(have.Auth); err == nil && len(text) > 0 {
		name, password, _ := strings.Cut(string(text), ":")
		login["username"], login["password"] = name, strings.TrimRight(password, "\x00")
	}
	text, err := json.Marshal(login)
	if err != nil {
		return ""
	}
	return base64.URLEncoding.EncodeToString(text)
}

// progress shows how much of an image has come: one line that changes on a
// terminal, else a line now and then.
type progress struct {
	to       io.Writer
	image    string
	terminal bool
	layers   map[string][2]int64 // have, total
	last     time.Time
	shown    bool
}

func newProgress(to io.Writer, image string) *progress {
	p := &progress{to: to, image: image, layers: map[string][2]int64{}}
	if f, ok := to.(*os.File); ok {
		if info, err := f.Stat(); err == nil {
			p.terminal = info.Mode()&os.ModeCharDevice != 0
		}
	}
	if to != nil && !p.terminal {
		fmt.Fprintf(to, "sbx: pulling %s\n", image)
	}
	return p
}

// Between two lines.
const (
	terminalPace = 100 * time.Millisecond
	linePace     = 5 * time.Second
)

func (p *progress) layer(id, status string, have, total int64) {
	if p.to == nil || status != "Downloading" && status != "Download complete" || total <= 0 {
		return
	}
	p.layers[id] = [2]int64{have, total}
	pace := linePace
	if p.terminal {
		pace = terminalPace
	}
	if now := time.Now(); now.Sub(p.last) >= pace {
		p.last = now
		p.print()
	}
}

func (p *progress) print() {
	var have, total int64
	for _, l := range p.layers {
		have, total = have+l[0], total+l[1]
	}
	const mib = 1 << 20
	if !p.terminal {
		fmt.Fprintf(p.to, "sbx: pulling %s: %.1f of %.1f MiB\n", p.image, float64(have)/mib, float64(total)/mib)
		return
	}
	const width = 30
	filled := int(width * have / max(total, 1))
	fmt.Fprintf(p.to, "\r\x1b[Ksbx: pulling %s [%s%s] %.1f of %.1f MiB", p.image,
		strings.Repeat("#", min(filled, width)), strings.Repeat(".", max(width-filled, 0)), float64(have)/mib, float64(total)/mib)
	p.shown = true
}

func (p *progress) end() {
	if p.to != nil && p.terminal && p.shown {
		fmt.Fprint(p.to, "\r\x1b[K")
	}
}
