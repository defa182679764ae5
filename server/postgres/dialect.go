package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"quarry/server/sqldb"
)

// connector opens connections whose statements are in the dialect that package sqldb describes.
type connector struct {
	driver.Connector
	pool *Pool
}

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, c.pool.connectError(err)
	}
	whole, ok := opened.(*stdlib.Conn)
	if !ok {
		return nil, errors.Join(errors.New("the driver returned an unknown connection"), opened.Close())
	}
	return &conn{whole}, nil
}

// conn translates statements.
type conn struct{ *stdlib.Conn }

// longList is the number of parameters above which a query is planned each time: the plan of a prepared one may be from
// when the table had few rows, and read all of them until PostgreSQL analyses the table again, within a minute.
const longList = 100

// QueryContext implements driver.QueryerContext. Outside a transaction a query only reads, so that after the end of its
// connection database/sql may ask again on another one.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	const idle = 'I'
	alone := c.Conn.Conn().PgConn().TxStatus() == idle
	if len(args) > longList {
		args = slices.Insert(args, 0, driver.NamedValue{Value: pgx.QueryExecModeCacheDescribe})
	}
	rows, err := c.Conn.QueryContext(ctx, translate(query), args)
	if err != nil && alone && isLost(err) {
		return nil, driver.ErrBadConn
	}
	return rows, err
}

// ExecContext implements driver.ExecerContext.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return c.Conn.ExecContext(ctx, translate(query), args)
}

// PrepareContext implements driver.ConnPrepareContext.
func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	return c.Conn.PrepareContext(ctx, translate(query))
}

// CheckNamedValue implements driver.NamedValueChecker. PostgreSQL stores no zero characters and no invalid UTF-8.
func (c *conn) CheckNamedValue(value *driver.NamedValue) error {
	switch given := value.Value.(type) {
	case string:
		value.Value = storable(given)
	case sqldb.JSON:
		text, err := given.Value()
		if written, ok := text.(string); ok {
			text = storable(written)
		}
		value.Value = text
		return err
	}
	return c.Conn.CheckNamedValue(value)
}

func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// translate rewrites a statement: ? and ?N to $N, and json_each to the function for lists. Texts, names and comments
// stay.
func translate(query string) string {
	if !strings.ContainsRune(query, '?') {
		return query
	}
	query = strings.ReplaceAll(query, "json_each(", "json_array_elements_text(")
	var out strings.Builder
	next := 1
	for at := 0; at < len(query); {
		switch rest := query[at:]; {
		case rest[0] == '\'' || rest[0] == '"':
			at += copied(&out, rest, rest[:1], rest[:1])
		case strings.HasPrefix(rest, "--"):
			at += copied(&out, rest, "--", "\n")
		case strings.HasPrefix(rest, "/*"):
			at += copied(&out, rest, "/*", "*/")
		case rest[0] == '?':
			digits := len(rest[1:]) - len(strings.TrimLeft(rest[1:], "0123456789"))
			out.WriteByte('$')
			if digits > 0 {
				out.WriteString(rest[1 : 1+digits])
			} else {
				out.WriteString(strconv.Itoa(next))
				next++
			}
			at += 1 + digits
		default:
			out.WriteByte(rest[0])
			at++
		}
	}
	return out.String()
}

// copied copies what begins with open, up to the next end, and returns its length.
func copied(out *strings.Builder, rest, open, end string) int {
	length := len(rest)
	if found := strings.Index(rest[len(open):], end); found >= 0 {
		length = len(open) + found + len(end)
	}
	out.WriteString(rest[:length])
	return length
}
