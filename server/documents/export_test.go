package documents

// Forget removes what snapshots have read.
func (p *Packer) Forget() { p.recent = newRecent() }
