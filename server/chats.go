package server

import (
	"context"
	"fmt"
	"path/filepath"

	"quarry/server/chat"
)

// chatsFile lies beside a tenant's library.
const chatsFile = "chats.db"

// openChats opens a tenant's chat sessions once, like directory. Where nothing may be stored they are kept in memory.
func (s *Server) openChats(ctx context.Context, tenant string, create bool) (*chat.Store, error) {
	ctx = context.WithoutCancel(ctx)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if err := s.leaveRemoved(tenant); err != nil {
		return nil, fmt.Errorf("open the chats: %w", err)
	}
	if store := s.chats[tenant]; store != nil {
		return store, nil
	}
	path := ""
	if !s.options.Sample && !s.options.ReadOnly {
		path = filepath.Join(tenantFolder(s.options.Home, tenant), chatsFile)
		found, err := exists(path)
		if err != nil {
			return nil, fmt.Errorf("open the chats: %w", err)
		}
		if !found && !create {
			return s.openNoChats(ctx)
		}
	}
	store, err := chat.Open(ctx, path, s.options.Now)
	if err != nil {
		return nil, err
	}
	s.chats[tenant] = store
	return store, s.noteFiles(tenant)
}

// openNoChats stands in for sessions that do not exist, and gives way as soon as somebody makes the first.
func (s *Server) openNoChats(ctx context.Context) (store *chat.Store, err error) {
	if s.noChats == nil {
		s.noChats, err = chat.Open(ctx, "", s.options.Now)
	}
	return s.noChats, err
}
