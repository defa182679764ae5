package server

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"quarry/server/chat"
)

// chatsFile is in the folder of a tenant's library.
const chatsFile = "chats.db"

// openChats opens a tenant's chat sessions once. In a sample or read-only library they are kept in memory.
func (s *Server) openChats(ctx context.Context, tenant string, create bool) (*chat.Store, error) {
	state, err := s.current(ctx, tenant)
	if err != nil {
		return nil, fmt.Errorf("open the chats: %w", err)
	}
	store, err := openOnce(ctx, s, state.lock, &state.chats, func(ctx context.Context) (*chat.Store, error) {
		path := ""
		if !s.options.Sample && !s.options.ReadOnly {
			path = filepath.Join(tenantFolder(s.options.Home, tenant), chatsFile)
			found, err := exists(path)
			if err != nil {
				return nil, fmt.Errorf("open the chats: %w", err)
			}
			if !found && !create {
				return nil, errAbsent
			}
		}
		store, err := chat.Open(ctx, path, s.options.Now)
		if err != nil {
			return nil, err
		}
		if err := s.noteFiles(tenant, func(now tenantFiles) { state.files.chats = now.chats }); err != nil {
			return nil, errors.Join(fmt.Errorf("open the chats: %w", err), store.Close())
		}
		return store, nil
	})
	if errors.Is(err, errAbsent) {
		return s.openEmptyChats(ctx)
	}
	return store, err
}

// openEmptyChats opens an empty store in memory, for a tenant without sessions.
func (s *Server) openEmptyChats(ctx context.Context) (*chat.Store, error) {
	return openOnce(ctx, s, s.shared.emptyLock, &s.shared.emptyChats, func(ctx context.Context) (*chat.Store, error) {
		return chat.Open(ctx, "", s.options.Now)
	})
}
