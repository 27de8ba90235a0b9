// What a policy allows is additional data of both layers of its lock. So the lock opens only with the terms that its
// owner agreed to, and who judges a use by terms from an edited row cannot open the key. The encoding is frozen:
// another one gets another version, and is tried beside this one.

import type { PolicyTerms } from '../../../../db/queries/vault/policies.ts'
import { canonicalJson } from '../../../platform/canonical-json.ts'
import { AppError } from '../../../platform/errors.ts'
import type { BoundFields } from '../../../platform/sealing/bytes.ts'

const VERSION = 1

/** The text of a list that is bound; null for an empty one, which is not. */
export const boundList = (list: readonly unknown[]): string | null => (list.length === 0 ? null : canonicalJson(list))

/** Lists as canonical JSON (RFC 8785), because a JSON column keeps neither spaces nor the order of names. */
export const boundTerms = (terms: PolicyTerms): BoundFields => ({
  version: VERSION,
  policy: terms.id,
  network: terms.network,
  rules: canonicalJson(terms.argumentRules),
  expires_at_ms: terms.expiresAt?.getTime() ?? null,
  max_total_value: terms.maxTotalValue,
  max_uses: terms.maxUses,
  max_total_fee: terms.maxTotalFee,
  token_limits: boundList(terms.tokenLimits),
  rolling_limits: boundList(terms.rollingLimits),
  // Absent fields are not encoded.
  require_approval: terms.requireApproval === null ? null : canonicalJson(terms.requireApproval),
})

/** The policy that allowed this has ended meanwhile. Another policy may still allow it. */
export class PolicyClosed extends AppError {
  constructor() {
    super('policy_denied', 'The policy that allowed this was revoked, used up or expired meanwhile.')
    this.name = 'PolicyClosed'
  }
}

/** The row of the policy was edited. Another policy may still allow the use. */
export class PolicyForged extends AppError {
  constructor(policy: { readonly projectId: string; readonly actor: string; readonly policyId: string }) {
    const { projectId, actor, policyId: subject } = policy
    super('policy_denied', 'The policy that allows this is not as its owner made it.', {
      event: { kind: 'policy_forged', projectId, actor, subject },
    })
    this.name = 'PolicyForged'
  }
}
