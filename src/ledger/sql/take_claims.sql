-- take_claims: writes who joins lines with which claims, unless a claim belongs to another buyer.
-- In      sales, hashes of the claims, buyers
-- Keeps   a claim belongs to the first buyer who joined with it
INSERT INTO line_claims (sale, claim, buyer)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[]) ORDER BY 1, 2
ON CONFLICT (sale, claim) DO NOTHING
