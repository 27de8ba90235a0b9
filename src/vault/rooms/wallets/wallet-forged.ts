import { AppError } from '../../../platform/errors.ts'
import { EnvelopeError } from '../../../platform/sealing/envelope.ts'
import type { KeyRequest } from './wallet-key.ts'

/** `wallet`: the keyring if there is no wallet yet. */
type Request = { readonly wallet: Pick<KeyRequest['wallet'], 'projectId' | 'id'>; readonly actor: string }

/** The row of the wallet, or a row that opens its key, was changed in the database. */
export const walletForged = ({ wallet, actor }: Request, cause?: unknown): AppError => {
  const { projectId, id: subject } = wallet
  return new AppError('internal', 'A row of this wallet was changed, so its key was not opened.', {
    event: { kind: 'wallet_forged', projectId, actor, subject },
    cause,
  })
}

/** Opens what the rows of a wallet seal. @throws internal, with a security event, if that does not open. */
export const unlessForged = async <Result>(request: Request, open: () => Promise<Result>): Promise<Result> => {
  try {
    return await open()
  } catch (error) {
    if (error instanceof EnvelopeError) throw walletForged(request, error)
    throw error
  }
}
