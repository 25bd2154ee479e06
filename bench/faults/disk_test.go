//go:build linux

package faults

import (
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tendon/bench/internal/measure"
	"tendon/systems"
)

const (
	faultTime = 6 * time.Second
	tickTime  = time.Second / 60
)

// disk is a file system that a test mounted, with a fault that can be switched.
type disk struct {
	dir string
	cut func(on bool)
}

// run runs a command of the system. It skips the benchmark if the command may not or cannot run.
func run(b *testing.B, command ...string) {
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		b.Skipf("%v: %v: %s", command, err, out)
	}
}

// mount mounts a file system. It is unmounted at the end.
func mount(b *testing.B, arguments ...string) {
	run(b, append([]string{"mount"}, arguments...)...)
	b.Cleanup(func() { _ = exec.Command("umount", "-l", arguments[len(arguments)-1]).Run() })
}

// fill writes a file until the file system is full. empty removes the file.
func fill(b *testing.B, dir string) (empty func()) {
	path := filepath.Join(dir, "filler")
	f := measure.Must(os.Create(path))
	for size := 1 << 16; size > 0; size /= 2 {
		for block := make([]byte, size); ; {
			if _, err := f.Write(block); err != nil {
				break
			}
		}
	}
	f.Close()
	return func() {
		if err := os.Remove(path); err != nil {
			b.Error(err)
		}
	}
}

// fullDisk returns a tmpfs of 2 MB. Its fault is that no space is left.
func fullDisk(b *testing.B) *disk {
	d := &disk{dir: b.TempDir()}
	mount(b, "-t", "tmpfs", "-o", "size=2m", "tmpfs", d.dir)
	var empty func()
	d.cut = func(on bool) {
		if on {
			empty = fill(b, d.dir)
		} else {
			empty()
		}
	}
	return d
}

// loopDisk returns an ext4 file system in a file in a directory.
func loopDisk(b *testing.B, in, size string) *disk {
	d, image := &disk{dir: b.TempDir()}, filepath.Join(in, "image")
	run(b, "truncate", "-s", size, image)
	run(b, "mkfs.ext4", "-q", "-O", "^has_journal", image)
	mount(b, "-o", "loop,errors=continue", image, d.dir)
	return d
}

// slowDisk returns a file system whose fault is that each write takes up to 400 ms. It is then frozen repeatedly for that time.
func slowDisk(b *testing.B) *disk {
	d := loopDisk(b, b.TempDir(), "16M")
	var stop, stopped chan struct{}
	d.cut = func(on bool) {
		if !on {
			close(stop)
			<-stopped
			return
		}
		stop, stopped = make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				_ = exec.Command("fsfreeze", "-f", d.dir).Run()
				time.Sleep(400 * time.Millisecond)
				_ = exec.Command("fsfreeze", "-u", d.dir).Run()
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
				}
			}
		}()
	}
	return d
}

// brokenDisk returns a file system whose fault is that its device is out of space, so that writes fail with EIO.
func brokenDisk(b *testing.B) *disk {
	under := b.TempDir()
	mount(b, "-t", "tmpfs", "-o", "size=3m", "tmpfs", under)
	d := loopDisk(b, under, "64M")
	var empty func()
	d.cut = func(on bool) {
		if on {
			empty = fill(b, under)
		} else {
			empty()
		}
	}
	return d
}

// BenchmarkDisk measures the rooms of a server while the journal of one room is on a disk with a fault. The other journals are on
// another disk.
func BenchmarkDisk(b *testing.B) {
	for _, kind := range []struct {
		name, what string
		make       func(*testing.B) *disk
		restart    bool // a match whose journal may have lost bytes waits for the next server
	}{
		{"full", "the disk of one journal of three is full (tmpfs)", fullDisk, false},
		{"slow", "the disk of one journal of three stands still 400 ms at a time (frozen ext4)", slowDisk, false},
		{"EIO", "the device of one journal of three fails (ext4 in a file on a full tmpfs), and the server is restarted afterwards", brokenDisk, true},
	} {
		b.Run(kind.name, func(b *testing.B) {
			each(b, func(b *testing.B, s systems.Strategy) {
				v, d := startService(b, s, noAddress), kind.make(b)
				all := enterRooms(b, v, "a", "b", "c")
				v.move(d, "a")
				all.mark()
				if !all.play(returnTime, all.returned) {
					b.Fatalf("not all clients returned: %s", all.states())
				}
				inside, outside := all.in("a")
				r := result{what: fmt.Sprintf("%s for %v: from its end to play in that room", kind.what, faultTime), reach: 3 * time.Second}
				missed := missing(v, all, outside, "a", func() {
					d.cut(true)
					all.play(faultTime, nil)
					all.mark()
					d.cut(false)
				})
				if kind.restart {
					missed.end = time.Now()
					v.signal(syscall.SIGKILL)
					<-v.ended
					v.start(measure.Must(os.Executable()))
				}
				all.play(returnTime, inside.returned)
				inside.add(&r, missed.end)
				missed.report(&r)
				r.report(b)
			})
		})
	}
}

// move kills the server, puts the journal of a room on a disk and starts the server again.
func (v *service) move(d *disk, room string) {
	v.signal(syscall.SIGKILL)
	<-v.ended
	paths, err := filepath.Glob(filepath.Join(v.dir, room+"-*.journal"))
	if err != nil || len(paths) != 1 {
		v.b.Fatal(paths, err)
	}
	there := filepath.Join(d.dir, filepath.Base(paths[0]))
	if err := os.WriteFile(there, measure.Must(os.ReadFile(paths[0])), 0o600); err != nil {
		v.b.Fatal(err)
	}
	mount(v.b, "--bind", there, paths[0])
	v.start(measure.Must(os.Executable()))
}

// missedOf has the ticks that rooms missed during a fault of another room.
type missedOf struct {
	ticks int
	calm  int           // missed in an equal time before, because the machine was too slow
	gap   time.Duration // longest of a client between two confirmed ticks
	end   time.Time     // of the fault
}

const statsTime = 2200 * time.Millisecond // until the statistics of a server contain everything before

// missing plays a fault. It returns the ticks that the other rooms missed, during the fault and in an equally long time before.
func missing(v *service, all, outside players, without string, fault func()) (m missedOf) {
	all.play(statsTime, nil)
	first := v.givenUp(without)
	all.play(faultTime+statsTime, nil)
	second := v.givenUp(without)
	outside.resetGap()
	fault()
	m.end, m.gap = time.Now(), outside.gap()
	all.play(statsTime, nil)
	m.calm, m.ticks = ticksIn(second-first), ticksIn(v.givenUp(without)-second)
	return m
}

// ticksIn returns the number of ticks that begin in a time.
func ticksIn(d time.Duration) int { return int((d + tickTime - 1) / tickTime) }

func (m *missedOf) report(r *result) {
	r.note = fmt.Sprintf("the other rooms missed %d ticks, %d in as long a time before; longest gap of their clients %.2f s", m.ticks, m.calm, m.gap.Seconds())
	if m.ticks > m.calm {
		r.fault = "another room missed ticks"
	}
}

// BenchmarkRecords measures the rooms of a server whose file of matches is destroyed while they play.
func BenchmarkRecords(b *testing.B) {
	each(b, func(b *testing.B, s systems.Strategy) {
		path := filepath.Join(b.TempDir(), "matches.db")
		v := startService(b, s, noAddress, "--matches", path)
		all := enterRooms(b, v, "a", "b", "c")
		r := result{what: fmt.Sprintf("the file of matches is overwritten with random bytes, then %v of play", faultTime), reach: 3 * time.Second}
		missed := missing(v, all, all, "", func() {
			f := measure.Must(os.OpenFile(path, os.O_WRONLY, 0))
			size := measure.Must(f.Stat()).Size()
			if _, err := io.CopyN(f, rand.Reader, size); err != nil {
				b.Fatal(err)
			}
			f.Close()
			all.mark()
			all.play(faultTime, nil)
		})
		all.add(&r, missed.end.Add(-faultTime))
		missed.report(&r)
		r.report(b)
	})
}

const hundred = 100

// BenchmarkFlip measures a start with a hundred journals, one of which has a flipped bit.
func BenchmarkFlip(b *testing.B) {
	each(b, func(b *testing.B, s systems.Strategy) {
		v := startService(b, s, noAddress)
		var all players
		for i := range hundred {
			all = append(all, enter(b, v, fmt.Sprintf("r%d", i), 0, nil))
		}
		all.settle(b)
		r := result{what: fmt.Sprintf("kill -9 of a server with %d rooms, and a start with one journal flipped: from the start to play in the other rooms", hundred), reach: 3 * time.Second}
		v.signal(syscall.SIGKILL)
		all.play(downTime, nil)
		<-v.ended
		v.flip("r7")
		_, outside := all.in("r7")
		all.mark()
		from := time.Now()
		v.start(measure.Must(os.Executable()))
		all.play(returnTime, outside.returned)
		outside.add(&r, from)
		lost := lossOf{}
		lost.add(v, outside, from)
		lost.report(&r)
		r.report(b)
	})
}

// flip flips a bit in the header of the journal of a room, so that none of its ticks can be used.
func (v *service) flip(room string) {
	paths, err := filepath.Glob(filepath.Join(v.dir, room+"-*.journal"))
	if err != nil || len(paths) != 1 {
		v.b.Fatal(paths, err)
	}
	data := measure.Must(os.ReadFile(paths[0]))
	data[20] ^= 1
	if err := os.WriteFile(paths[0], data, 0o600); err != nil {
		v.b.Fatal(err)
	}
}
