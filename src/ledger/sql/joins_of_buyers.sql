-- joins_of_buyers: which of these buyers are in a line, with which number.
-- In      sale, buyers
-- Out     a row per join that counts: buyer, number
SELECT buyer, number FROM line_joins WHERE sale = $1 AND buyer = ANY($2::text[]) AND left_no IS NULL
