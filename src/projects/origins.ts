import { setAllowedOrigins as update } from '../../db/queries/projects.ts'
import type { WorkerCtx } from '../context.ts'
import { AppError, noSuchProject } from '../errors.ts'
import { UUID } from '../uuid.ts'

/** A scheme, a host and perhaps a port: what a browser sends as `Origin`. */
const isOrigin = (text: string): boolean => URL.canParse(text) && new URL(text).origin === text

/**
 * Sets from which pages browsers may call on behalf of a project; the earlier list is replaced.
 * @throws invalid_input, not_found.
 */
export const setAllowedOrigins = async (
  ctx: Pick<WorkerCtx, 'db'>,
  input: { readonly projectId: string; readonly origins: readonly string[] },
): Promise<void> => {
  if (!input.origins.every(isOrigin)) {
    throw new AppError('invalid_input', 'Each origin must be like https://app.example.com, without a path.')
  }
  if (!UUID.test(input.projectId) || !(await update(ctx.db, input))) {
    throw noSuchProject()
  }
}
