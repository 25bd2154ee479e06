//go:build linux

package chaos

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stepper steps the clock of one process, and not that of the machine. Programs read the clock with a function that the kernel maps
// into each process, the vDSO (vdso(7)). stepper replaces this function before the process runs.
type stepper struct {
	memory *os.File
	offset int64 // address of the seconds that the replacement adds
}

// replacement is machine code for amd64. It calls the kernel, and adds the seconds behind it to CLOCK_REALTIME.
var replacement = [clockOffset]byte{
	0xb8, 228, 0, 0, 0, // mov eax, 228: clock_gettime
	0x0f, 0x05, // syscall
	0x85, 0xff, // test edi, edi: CLOCK_REALTIME is 0
	0x75, 10, // jne to the end
	0x48, 0x8b, 0x0d, 6, 0, 0, 0, // mov rcx, the seconds
	0x48, 0x01, 0x0e, // add [rsi], rcx
	0xc3, // ret
}

const clockOffset = 24 // of the seconds in the function

// startStepped starts a command whose clock can be stepped. After an error it does not run.
func startStepped(c *exec.Cmd) (*stepper, error) {
	if runtime.GOARCH != "amd64" {
		return nil, errors.New("the replacement is for amd64")
	}
	runtime.LockOSThread() // a thread traces the process
	defer runtime.UnlockOSThread()
	c.SysProcAttr.Ptrace = true
	if err := c.Start(); err != nil {
		return nil, err
	}
	_, err := syscall.Wait4(c.Process.Pid, nil, 0, nil) // until its program is loaded
	var s *stepper
	if err == nil {
		s, err = newStepper(c.Process.Pid)
	}
	if err == nil {
		err = syscall.PtraceDetach(c.Process.Pid)
	}
	if err != nil {
		_ = c.Process.Kill()
		_ = c.Wait()
		return nil, err
	}
	return s, nil
}

// newStepper replaces the function of a process that does not run yet.
func newStepper(pid int) (*stepper, error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	var begin, end int64
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, "[vdso]") {
			_, err = fmt.Sscanf(line, "%x-%x", &begin, &end)
		}
	}
	if err != nil || begin == 0 {
		return nil, errors.Join(errors.New("the kernel maps no vDSO"), err)
	}
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	code := make([]byte, end-begin)
	if _, err := memory.ReadAt(code, begin); err != nil {
		return nil, errors.Join(err, memory.Close())
	}
	file, err := elf.NewFile(bytes.NewReader(code))
	if err != nil {
		return nil, errors.Join(err, memory.Close())
	}
	symbols, err := file.DynamicSymbols()
	for _, f := range symbols {
		if f.Name == "__vdso_clock_gettime" && f.Size >= clockOffset+8 {
			s := &stepper{memory: memory, offset: begin + int64(f.Value) + clockOffset}
			_, err = memory.WriteAt(replacement[:], begin+int64(f.Value))
			return s, errors.Join(err, s.set(0))
		}
	}
	return nil, errors.Join(errors.New("the vDSO has no clock_gettime"), err, memory.Close())
}

// set sets the difference between the clock of the process and that of the machine.
func (s *stepper) set(d time.Duration) error {
	_, err := s.memory.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(d/time.Second)), s.offset)
	return err
}

// runClock prints both clocks of the process, in seconds, until it is killed.
func runClock() {
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		now := time.Now()
		fmt.Printf("{\"event\": \"clock\", \"wall\": %d, \"steady\": %f}\n", now.Unix(), now.Sub(start).Seconds())
	}
}

// A step changes the wall clock of one process. Its monotonic clock and the clock of this process go on.
func TestAStepChangesTheClockOfOneProcess(t *testing.T) {
	type reading struct{ wall, steady float64 }
	readings := make(chan reading, 1)
	p := launch(t, "clock", clockRole, func(_ string, e event) {
		wall, _ := e["wall"].(float64)
		steady, _ := e["steady"].(float64)
		select {
		case readings <- reading{wall, steady}:
		default:
		}
	})
	if p.clock == nil {
		t.Skip("no clock can be stepped: the log has the reason")
	}
	last := (<-readings).steady
	for _, step := range []time.Duration{7 * time.Hour, -20 * time.Minute, 0} {
		if err := p.clock.set(step); err != nil {
			t.Fatal(err)
		}
		var r reading
		for off, end := math.Inf(1), time.Now().Add(time.Minute); math.Abs(off) > 60; { // a reading may be older than the step
			if time.Now().After(end) {
				t.Fatalf("a step of %v: the clock is %v s off", step, off)
			}
			r = <-readings
			off = r.wall - float64(time.Now().Unix()) - step.Seconds()
		}
		if r.steady <= last || r.steady-last > 120 {
			t.Errorf("a step of %v: the monotonic clock went from %v to %v", step, last, r.steady)
		}
		last = r.steady
	}
}
