import { findMetadataDocument } from '../../db/queries/metadata.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import { digestOfFile } from './host.ts'

/**
 * The exact text of a hosted document.
 * @param file null where the framework could not decode the path.
 * @throws not_found, the same for a file name that is none.
 */
export const getMetadata = async (
  ctx: Pick<Ctx, 'db'>,
  file: string | null,
): Promise<{ readonly digest: string; readonly body: string }> => {
  const digest = file === null ? null : digestOfFile(file)
  const body = digest === null ? null : await findMetadataDocument(ctx.db, digest)
  if (digest === null || body === null) throw new AppError('not_found', 'There is no such metadata document.')
  return { digest, body }
}
