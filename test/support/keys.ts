// Opening a wallet's key for one function, as tests want it.

import type { OpenKey, OpenPolicyKey, Vault } from '../../src/vault/contract/vault.ts'

const whileOpen = async <Key extends Disposable, Result>(
  opening: Promise<Key>,
  use: (key: Key) => Promise<Result>,
): Promise<Result> => {
  using key = await opening
  return await use(key)
}

type Request<Open extends 'openKey' | 'openKeyByPolicy'> = Parameters<Vault[Open]>[0]

/** Opens a wallet's key with the credential of its control mode while `use` runs. */
export const withKey = <Result>(vault: Vault, request: Request<'openKey'>, use: (key: OpenKey) => Promise<Result>) =>
  whileOpen(vault.openKey(request), use)

/** What signs once with the credential of the wallet's control mode. */
export const signerOnce = (vault: Vault, request: Request<'openKey'>): Pick<OpenKey, 'sign'> => ({
  sign: (...uses) => vault.signOnce({ ...request, uses }),
})

/** What signs messages, with the credentials that a message needs. */
export const messageSigner = (vault: Vault, request: Request<'openKey'>): Pick<OpenKey, 'sign'> => ({
  sign: (...uses) => vault.signMessage({ ...request, uses }),
})

/** The same by a policy. */
export const withPolicyKey = <Result>(
  vault: Vault,
  request: Request<'openKeyByPolicy'>,
  use: (key: OpenPolicyKey) => Promise<Result>,
) => whileOpen(vault.openKeyByPolicy(request), use)
