package containerd

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/api/types"
	taskstate "github.com/containerd/containerd/api/types/task"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/core/mount"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"github.com/containerd/typeurl/v2"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/container"
)

// Describe says what would be made.
func (e *engine) Describe(s container.Spec) (string, error) {
	made, _, err := describe("plan", s, nil)
	if err != nil {
		return "", err
	}
	network := bridge
	if container.Offline(s.Profile) {
		network = "none"
	}
	r := made.Linux.Resources
	return fmt.Sprintf("create a container of %s as user %d:%d, network %s, %d MiB, %g processors, %d processes", container.Image(s.Profile),
		made.Process.User.UID, made.Process.User.GID, network, *r.Memory.Limit>>20, float64(*r.CPU.Quota)/float64(*r.CPU.Period), *r.Pids.Limit), nil
}

// Gaps are none: it runs as root.
func (e *engine) Gaps() []sandbox.Gap { return nil }

// Create makes the record of a container and then its root. In this order
// containerd's garbage collection needs no lease to leave the root alone, and a
// killed maker leaves nothing that is not labelled.
func (e *engine) Create(ctx context.Context, s container.Spec) (string, []sandbox.Gap, error) {
	ctx = quiet(ctx)
	image, err := e.image(ctx, container.Image(s.Profile))
	if err != nil {
		return "", nil, err
	}
	id := newID()
	made, n, err := describe(id, s, image.env)
	if err != nil {
		return "", nil, err
	}
	if err := n.write(s); err != nil {
		return "", nil, err
	}
	spec, err := typeurl.MarshalAny(made)
	if err != nil {
		return "", nil, err
	}
	runtime, err := runtimeOf(s.Profile.Container.Runtime)
	if err != nil {
		return "", nil, err
	}
	_, err = e.ContainerService().Create(ctx, containers.Container{
		ID: id, Labels: s.Labels(), Image: image.name, Runtime: runtime, Spec: spec, SnapshotKey: id, Snapshotter: e.snapshotter,
	})
	if err != nil {
		return "", nil, err
	}
	root, err := e.prepare(ctx, id, image)
	if err != nil {
		e.give(id)
		return "", nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.made[id] = madeOf{root, s.Profile}
	return id, nil, nil
}

// prepare makes the root, and unpacks the image if nobody has.
func (e *engine) prepare(ctx context.Context, id string, image image) ([]mount.Mount, error) {
	snapshots := e.SnapshotService(e.snapshotter)
	root, err := snapshots.Prepare(ctx, id, image.chain)
	if errdefs.IsNotFound(err) {
		if err := image.Unpack(ctx, e.snapshotter); err != nil {
			return nil, fmt.Errorf("unpack the image: %w", err)
		}
		root, err = snapshots.Prepare(ctx, id, image.chain)
	}
	return root, err
}

// madeOf is what a container was made of, until it is started.
type madeOf struct {
	root    []mount.Mount
	profile sandbox.Profile
}

func (e *engine) take(id string) madeOf {
	e.mu.Lock()
	defer e.mu.Unlock()
	made := e.made[id]
	delete(e.made, id)
	return made
}

// newID names a container, and its task, root and control group.
func newID() string {
	var random [12]byte
	_, _ = rand.Read(random[:]) // it never fails
	return "sbx-" + hex.EncodeToString(random[:])
}

// Start makes the task and starts it. It has no streams of containerd's: the
// command gets the caller's own.
func (e *engine) Start(ctx context.Context, id string) error {
	defer e.lock(id)()
	made := e.take(id)
	request := &tasks.CreateTaskRequest{ContainerID: id}
	for _, m := range made.root {
		request.Rootfs = append(request.Rootfs, &types.Mount{Type: m.Type, Source: m.Source, Target: m.Target, Options: m.Options})
	}
	task, err := e.TaskService().Create(ctx, request)
	if err != nil {
		return native(err)
	}
	if !container.Offline(made.profile) {
		if err := attach(ctx, id, int(task.Pid), made.profile); err != nil {
			return fmt.Errorf("make its network: %w", err)
		}
	}
	_, err = e.TaskService().Start(ctx, &tasks.StartRequest{ContainerID: id})
	return native(err)
}

func native(err error) error {
	if err == nil {
		return nil
	}
	return errgrpc.ToNative(err)
}

// Wait waits for the end of the task.
func (e *engine) Wait(ctx context.Context, id string) string {
	done, err := e.TaskService().Wait(ctx, &tasks.WaitRequest{ContainerID: id})
	if err != nil {
		return native(err).Error()
	}
	return container.EndedWith(int64(done.ExitStatus))
}

// Times of an ending.
const (
	endTime  = 10 * time.Second // that a first process may take which has nothing left to do
	giveTime = 20 * time.Second // for the removal
)

// Ended waits for the first process and removes the container. When containerd is
// down, whose client would wait for its socket, the next run does.
func (e *engine) Ended(id string) {
	if !container.IsSocket(e.path) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	_, _ = e.TaskService().Wait(ctx, &tasks.WaitRequest{ContainerID: id})
	cancel()
	e.give(id)
}

func (e *engine) give(id string) {
	ctx, cancel := context.WithTimeout(context.Background(), giveTime)
	defer cancel()
	_ = e.Remove(ctx, id) // with an error, the reaper of the next run tries again
}

// Remove ends a container and forgets it. One that is gone is no error.
func (e *engine) Remove(ctx context.Context, id string) error {
	defer e.lock(id)()
	if err := e.removeTask(ctx, id); err != nil {
		return err
	}
	if err := detach(ctx, id); err != nil {
		return err
	}
	// Both at once: a record without a root is removed by the next run, a root
	// without a record by containerd.
	record := make(chan error)
	go func() { record <- present(e.ContainerService().Delete(ctx, id)) }()
	err := present(e.SnapshotService(e.snapshotter).Remove(ctx, id))
	return errors.Join(<-record, err)
}

// present is an error that is not the one of a thing that is gone.
func present(err error) error {
	if errdefs.IsNotFound(err) {
		return nil
	}
	return err
}

func (e *engine) removeTask(ctx context.Context, id string) error {
	_, err := e.TaskService().Delete(ctx, &tasks.DeleteTaskRequest{ContainerID: id})
	if err = native(err); err == nil || errdefs.IsNotFound(err) {
		return nil
	}
	// It runs, or was never started.
	_, err = e.TaskService().Kill(ctx, &tasks.KillRequest{ContainerID: id, Signal: uint32(syscall.SIGKILL), All: true})
	if err = native(err); err != nil && !errdefs.IsNotFound(err) {
		return err
	}
	if err == nil {
		if _, err := e.TaskService().Wait(ctx, &tasks.WaitRequest{ContainerID: id}); err != nil && !errdefs.IsNotFound(native(err)) {
			return native(err)
		}
	}
	_, err = e.TaskService().Delete(ctx, &tasks.DeleteTaskRequest{ContainerID: id})
	if err = native(err); errdefs.IsNotFound(err) {
		return nil
	}
	return err
}

// Abandoned lists the containers of this user whose makers are gone.
func (e *engine) Abandoned(ctx context.Context) ([]string, error) {
	list, err := e.ContainerService().List(ctx, fmt.Sprintf("labels.%q==%d", container.LabelUser, os.Geteuid()))
	if err != nil {
		return nil, err
	}
	var left []string
	for _, c := range list {
		if e.abandoned(ctx, c) {
			left = append(left, c.ID)
		}
	}
	return left, nil
}

// Sweep lists, or removes, the containers that killed processes of the same user
// left: see sandbox.Sweeper.
func (b *Backend) Sweep(ctx context.Context, remove bool) ([]string, error) {
	e, err := b.connect(ctx, sandbox.Container{})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	return container.Sweep(ctx, e, remove)
}

// abandoned says whether a container is nobody's any more. A session that has
// ended is, even if its maker lives: nobody waited for its end. An answer that
// does not come is taken for a task that runs.
func (e *engine) abandoned(ctx context.Context, c containers.Container) bool {
	if container.Kind(c.Labels[container.LabelKind]) != container.Session {
		return container.Abandoned(c.Labels, true)
	}
	got, err := e.TaskService().Get(ctx, &tasks.GetRequest{ContainerID: c.ID})
	if err == nil {
		return got.Process.Status == taskstate.Status_STOPPED
	}
	return errdefs.IsNotFound(native(err)) && container.Abandoned(c.Labels, false)
}

// Architecture of an image is known before a container is made.
func (e *engine) Architecture(ctx context.Context, name string) string {
	found, err := e.image(quiet(ctx), name)
	if err != nil {
		return ""
	}
	return found.architecture
}
