-- reconciliations: the latest reports of a sale, the final one first.
-- In      sale, limit
-- Out     at, final, differences, repairs, summary
SELECT at, final, differences, repairs, summary FROM reconciliations WHERE sale = $1 ORDER BY final DESC, id DESC LIMIT $2
