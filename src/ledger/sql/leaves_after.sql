-- leaves_after: the joins of a line that count no more, in the order in which they ended.
-- In      sale, number of an end, how many at most
-- Out     number, left_no
SELECT number, left_no FROM line_joins WHERE sale = $1 AND left_no > $2 ORDER BY left_no LIMIT $3
