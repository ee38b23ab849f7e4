package netproxy

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/sbx-run/sbx/netrules"
	"github.com/sbx-run/sbx/sandbox"
)

const (
	// answerSeconds is how long a program may keep an answer; it holds longer.
	answerSeconds = 60
	longestQuery  = 1232 // what is larger is no question about one name
)

// ServeNames answers questions about names until Close. A listed name has an
// address of ours (see fakes); any other does not exist. Nothing is asked of a
// name server here, so that a question carries nothing out.
func (s *Server) ServeNames(c net.PacketConn) error {
	if !s.track(c) {
		return net.ErrClosed
	}
	defer s.forget(c)
	b := make([]byte, longestQuery+1)
	for {
		n, from, err := c.ReadFrom(b)
		if err != nil {
			if s.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return net.ErrClosed
			}
			continue // an ICMP error of an earlier answer
		}
		if n > longestQuery {
			continue
		}
		if reply := s.answerName(b[:n]); reply != nil {
			_, _ = c.WriteTo(reply, from)
		}
	}
}

// answerName gives the answer to one question; nil: to none.
func (s *Server) answerName(query []byte) []byte {
	var p dnsmessage.Parser
	head, err := p.Start(query)
	if err != nil || head.Response {
		return nil
	}
	reply := dnsmessage.Header{
		ID: head.ID, Response: true, OpCode: head.OpCode, RecursionDesired: head.RecursionDesired, RecursionAvailable: true,
	}
	questions, err := p.AllQuestions()
	switch {
	case err != nil || len(questions) != 1:
		reply.RCode = dnsmessage.RCodeFormatError
		questions = nil
	case head.OpCode != 0 || questions[0].Class != dnsmessage.ClassINET:
		reply.RCode = dnsmessage.RCodeNotImplemented
	}
	m := dnsmessage.Message{Header: reply, Questions: questions}
	if reply.RCode == dnsmessage.RCodeSuccess {
		m.Answers, m.RCode = s.records(questions[0])
	}
	packed, err := m.Pack()
	if err != nil {
		return nil
	}
	return packed
}

// records are those of one name: an IPv4 address, and for other types none. A
// connection may use IPv6 all the same, the name is looked up for it.
func (s *Server) records(q dnsmessage.Question) ([]dnsmessage.Resource, dnsmessage.RCode) {
	t, err := netrules.NewTarget(strings.TrimSuffix(q.Name.String(), "."), 443)
	if err != nil || t.Addr.IsValid() {
		return nil, dnsmessage.RCodeNameError
	}
	if !s.policy.Lists(t.Name) {
		if !strings.Contains(t.Name, ".") { // the name of the sandbox itself, say: nothing that could be reached
			return nil, dnsmessage.RCodeNameError
		}
		d := s.policy.Judge(t, s.here)
		s.denials.Add(sandbox.Denial{
			Operation: sandbox.DeniedResolve, Host: t.Name, Layer: sandbox.LayerResolver, Rule: d.Reason(), Allow: d.Allow,
		})
		return nil, dnsmessage.RCodeNameError
	}
	if q.Type != dnsmessage.TypeA {
		return nil, dnsmessage.RCodeSuccess
	}
	a, ok := s.fakes.address(t.Name)
	if !ok {
		s.denials.Add(sandbox.Denial{
			Operation: sandbox.DeniedResolve, Host: t.Name, Layer: sandbox.LayerResolver, Rule: fmt.Sprintf("more than %d names in one run", maxFakes),
		})
		return nil, dnsmessage.RCodeServerFailure
	}
	return []dnsmessage.Resource{{
		Header: dnsmessage.ResourceHeader{Name: q.Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET, TTL: answerSeconds},
		Body:   &dnsmessage.AResource{A: a.As4()},
	}}, dnsmessage.RCodeSuccess
}
