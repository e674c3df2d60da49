-- open_line: makes the row of a sale's line, unless it is there.
-- In      sale, the secret of its salts, the head before the first join
-- Keeps   a secret and a head that are there stay; a draft has no line
INSERT INTO lines (sale, salt_key, head)
SELECT id, $2, $3 FROM sales WHERE id = $1 AND state <> 'draft'
ON CONFLICT (sale) DO NOTHING
