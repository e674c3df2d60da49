-- joins_after: the joins of a line behind a number, in order.
-- In      sale, number, how many at most
-- Out     number, buyer, proof, left_no
SELECT number, buyer, proof, left_no FROM line_joins WHERE sale = $1 AND number > $2 ORDER BY number LIMIT $3
