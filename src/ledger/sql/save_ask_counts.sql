-- save_ask_counts: what a process has counted of some sales, in the place of what it wrote before.
-- In      process, then for each sale: sale, since, asked, limited, sold_out, refused (arrays)
-- Keeps   what is written is the whole count, never a difference, and only goes up: a repeated or late call changes nothing
INSERT INTO ask_counts AS c (process, sale, since, asked, limited, sold_out, refused)
SELECT $1, s.id, n.since, n.asked, n.limited, n.sold_out, n.refused
FROM unnest($2::bigint[], $3::timestamptz[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
  AS n (sale, since, asked, limited, sold_out, refused)
JOIN sales s ON s.id = n.sale
ON CONFLICT (sale, process) DO UPDATE
SET asked = greatest(c.asked, excluded.asked), limited = greatest(c.limited, excluded.limited),
    sold_out = greatest(c.sold_out, excluded.sold_out), refused = greatest(c.refused, excluded.refused)
