/** What an operator may do, from the least to the most. Free of zod: the operations page imports it. */

/** viewer: read everything. operator: also run sales, their orders and refunds. admin: everything. */
export const OPERATOR_ROLES = ['viewer', 'operator', 'admin'] as const
export type OperatorRole = (typeof OPERATOR_ROLES)[number]

/** May an operator of this role make a call that needs at least that one? */
export function isAtLeast(role: OperatorRole, least: OperatorRole): boolean {
  return OPERATOR_ROLES.indexOf(role) >= OPERATOR_ROLES.indexOf(least)
}
