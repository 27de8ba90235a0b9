// Reaching the vaults from another process.

import {
  type ConnectOptions,
  connectOperatorVault,
  connectVault,
  operatorSocketOf,
  type Remote,
} from '../custody/remote-vault.ts'
import type { OperatorVault, Vault } from '../custody/vault.ts'
import { unreachable } from '../errors.ts'
import { createLog } from '../security/log.ts'
import { createReadingCtx, type Process, type ReadingCtx } from './contexts.ts'

const optionsOf = (input: Process) => {
  const { vaultSockets: sockets } = input.config
  if (sockets.length === 0) throw new Error('VAULT_SOCKET must be the path of the socket at which the vault listens.')
  const log = createLog(input)
  return {
    sockets,
    name: `strongroom-${input.process}`,
    onChange: ({ socket, is }: Parameters<ConnectOptions['onChange']>[0]) => {
      switch (is) {
        case 'open':
          return log.info({ socket }, 'connected to the vault')
        case 'lost':
          return log.warn({ socket }, 'lost the vault')
        case 'unfit':
          return log.error({ socket }, 'the root key was changed: the vault must be restarted with the present one')
        default:
          return unreachable(is)
      }
    },
  }
}

/** Connects to the vaults that `VAULT_SOCKET` names. */
export const openVaults = (input: Process): Remote<Vault> => connectVault(optionsOf(input))

/** The same as an operator, at sockets that only the vault's own user may open. */
export const openVaultsAsOperator = (input: Process): Remote<OperatorVault> => {
  const { sockets, ...options } = optionsOf(input)
  return connectOperatorVault({ ...options, sockets: sockets.map(operatorSocketOf) })
}

/** Adds the vault to a context, which then closes both. */
export const withVault = async <Asked, Base extends ReadingCtx>(
  vault: Remote<Asked>,
  create: () => Promise<Base>,
): Promise<Base & { readonly vault: Asked }> => {
  try {
    const base = await create()
    const close: ReadingCtx['close'] = async (options) => {
      vault.close()
      await base.close(options)
    }
    return { ...base, vault, close }
  } catch (error) {
    vault.close()
    throw error
  }
}

/** For an operator's commands that ask the vault, and read the database. */
export const createVaultCtx = (input: Process): Promise<ReadingCtx & { readonly vault: OperatorVault }> =>
  withVault(openVaultsAsOperator(input), () => createReadingCtx(input))
