package docker

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/moby/moby/client"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/container"
)

// puller is the part of an engine that fetches images.
type puller interface {
	ImagePull(ctx context.Context, name string, o client.ImagePullOptions) (client.ImagePullResponse, error)
}

// pull fetches an image and shows how far it is.
func (b *Backend) pull(ctx context.Context, e puller, image string, never bool) error {
	login := container.LoginFor(image, b.options.Getenv)
	absent := func(why error) error {
		if ctx.Err() != nil {
			return fmt.Errorf("%s: pull %s: %w: %w", b.engine, image, context.Cause(ctx), sandbox.ErrStart)
		}
		if strings.Contains(why.Error(), "no space left") {
			return b.notStarted("pull "+image, container.Explain(why))
		}
		return b.notStarted("", fmt.Errorf("the image %s is not here (%w): fetch it with `%s pull %s`%s, or load it with `%s load -i FILE`",
			image, why, b.engine, image, login.Hint(), b.engine))
	}
	if never {
		return absent(errors.New("and is not to be fetched"))
	}
	show := container.NewProgress(b.options.Progress, image)
	defer show.End()
	answer, err := e.ImagePull(ctx, image, client.ImagePullOptions{RegistryAuth: registryAuth(login)})
	if err != nil {
		return absent(short(err))
	}
	defer answer.Close()
	for m, err := range answer.JSONMessages(ctx) {
		if err != nil {
			return absent(short(err))
		}
		if m.Error != nil {
			return absent(short(m.Error))
		}
		if m.Progress != nil && m.ID != "" && (m.Status == "Downloading" || m.Status == "Download complete") {
			show.Layer(m.ID, m.Progress.Current, m.Progress.Total)
		}
	}
	if err := ctx.Err(); err != nil {
		return absent(err)
	}
	return nil
}

// short keeps the last and most telling part of an engine's sentence.
func short(err error) error {
	text := strings.TrimPrefix(err.Error(), "Error response from daemon: ")
	return errors.New(strings.TrimSpace(strings.ReplaceAll(text, "\n", " ")))
}

// registryAuth is a login as the engine wants it.
func registryAuth(l container.Login) string {
	if l.Empty() {
		return ""
	}
	fields := map[string]string{"serveraddress": l.Registry, "username": l.Name, "password": l.Password, "identitytoken": l.Token}
	maps.DeleteFunc(fields, func(_, value string) bool { return value == "" })
	text, err := json.Marshal(fields)
	if err != nil {
		return ""
	}
	return base64.URLEncoding.EncodeToString(text)
}
