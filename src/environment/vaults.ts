// Reaching the vaults from another process.

import { connectOperatorVault, connectVault, operatorSocketOf } from '../custody/remote-vault.ts'
import type { OperatorVault, Vault } from '../custody/vault.ts'
import { createLog, type Log } from '../security/log.ts'
import { createReadingCtx, type Process, type ReadingCtx } from './contexts.ts'

type Reaching = Process & { readonly log: Log }

/** Sends calls to the vaults until it is closed. */
export type Remote<Of> = Of & { readonly close: () => void }

const optionsOf = ({ config, process, log }: Reaching) => {
  const { vaultSockets: sockets } = config
  if (sockets.length === 0) throw new Error('VAULT_SOCKET must be the path of the socket at which the vault listens.')
  return {
    sockets,
    name: `strongroom-${process}`,
    onChange: ({ socket, isOpen }: { readonly socket: string; readonly isOpen: boolean }) => {
      if (isOpen) log.info({ socket }, 'connected to the vault')
      else log.warn({ socket }, 'lost the vault')
    },
  }
}

/** Connects to the vaults that `VAULT_SOCKET` names. */
export const openVaults = (reaching: Reaching): Remote<Vault> => connectVault(optionsOf(reaching))

/** The same as an operator, at sockets that only the vault's own user may open. */
export const openVaultsAsOperator = (reaching: Reaching): Remote<OperatorVault> => {
  const { sockets, ...options } = optionsOf(reaching)
  return connectOperatorVault({ ...options, sockets: sockets.map(operatorSocketOf) })
}

/** For an operator's commands that ask the vault, and read the database. */
export const createVaultCtx = async (input: Process): Promise<ReadingCtx & { readonly vault: OperatorVault }> => {
  using opened = new DisposableStack()
  const vault = openVaultsAsOperator({ ...input, log: createLog(input) })
  opened.defer(vault.close)
  const base = await createReadingCtx(input)
  opened.move()
  const close: ReadingCtx['close'] = async (options) => {
    vault.close()
    await base.close(options)
  }
  return { ...base, vault, close }
}
