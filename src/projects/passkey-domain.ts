import { findProject, setPasskeyRpId } from '../../db/queries/projects.ts'
import { isRpIdFor } from '../auth/relying-party.ts'
import type { WorkerCtx } from '../context.ts'
import { AppError, noSuchProject } from '../errors.ts'

/**
 * Sets which domain a project's new passkeys belong to (WebAuthn's RP ID); null: the host of the page that asks. Those of
 * another domain stay, and are of use only where that is the domain again.
 * @throws invalid_input, not_found.
 */
export const setPasskeyDomain = async (
  ctx: Pick<WorkerCtx, 'db' | 'config'>,
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
  await setPasskeyRpId(ctx.db, { projectId, rpId })
}
