import { findProject, setPasskeyRpId } from '../../db/queries/projects.ts'
import { isRpIdFor } from '../auth/relying-party.ts'
import type { WorkerCtx } from '../context.ts'
import { AppError, noSuchProject } from '../errors.ts'

/**
 * Sets which domain a project's new passkeys belong to (WebAuthn's RP ID); null: the host of the page that asks. Those of
 * another domain stay, and are of use only where that is the domain again. The audit has both. For operators.
 * @throws invalid_input, not_found.
 */
export const setPasskeyDomain = async (
  ctx: Pick<WorkerCtx, 'db' | 'config' | 'audit'>,
  input: { readonly projectId: string; readonly rpId: string | null },
): Promise<void> => {
  const { projectId, rpId } = input
  const project = await findProject(ctx.db, projectId)
  if (project === null) throw noSuchProject()
  if (rpId !== null && !isRpIdFor(ctx, project, rpId)) {
    throw new AppError(
      'invalid_input',
      'The passkey domain must be the host of an allowed origin or a domain above it, in lower case: no IP address, no port.',
    )
  }
  await ctx.db.transaction(async (tx) => {
    await setPasskeyRpId(tx, { projectId, rpId })
    const details = { domain: rpId ?? '', before: project.passkeyRpId ?? '' }
    const act = { projectId, actor: 'operator', action: 'passkey_domain_changed', subject: projectId, details } as const
    await ctx.audit.record(tx, act)
  })
}
