// The vault of another process, as an object with the same methods.

import type { OperatorVault, Vault } from '../rooms/vault.ts'
import { type Client, type ConnectOptions, connect } from './connect.ts'
import { isByTls } from './dial.ts'
import { readTls } from './tls-files.ts'
import * as keys from './vault-methods.ts'

export type { ConnectOptions }
export { isByTls }

const { METHODS: of, OPERATOR_METHODS: ofOperator } = keys

/** Where a vault listens for its operator, beside the socket for APIs. Only the vault's own user may connect there. */
export const operatorSocketOf = (socket: string): string => `${socket}.operator`

/** A vault in another process. */
export type Remote<Of> = Of & {
  /** Ends all connections. What is under way fails with `unavailable`. */
  readonly close: () => void
}

/** The keys that it opens stay with the vault that opened them. */
const openingOf = (client: Client): Pick<Vault, 'openKey' | 'openKeyByPolicy' | 'openPolicies'> => ({
  openKey: async (request) => {
    const { output: handle, held } = await client.hold(keys.openKey, request)
    return {
      sign: (...uses) => held.ask(keys.sign, { handle, uses }),
      [Symbol.dispose]: () => held.end(keys.closeKey, { handle }),
    }
  },
  openKeyByPolicy: async (request) => {
    const { output: handle, held } = await client.hold(keys.openKeyByPolicy, request)
    return {
      sign: (spends, ...uses) => held.ask(keys.signByPolicy, { handle, spends, uses }),
      [Symbol.dispose]: () => held.end(keys.closeKey, { handle }),
    }
  },
  openPolicies: async (request) => {
    const { output, held } = await client.hold(keys.openPolicies, request)
    const { handle, policies } = output
    return {
      policies,
      sign: async (by, ...uses) => {
        const signatures = await held.ask(keys.signOnceByPolicy, { handle, ...by, uses })
        held.release()
        return signatures
      },
      [Symbol.dispose]: () => held.end(keys.closeKey, { handle }),
    }
  },
})

const apiOf = (client: Client): Vault => ({
  ...openingOf(client),
  signOnce: (input) => client.ask(of.signOnce, input),
  signMessage: (input) => client.ask(of.signMessage, input),
  signAuthorization: (input) => client.ask(of.signAuthorization, input),
  newWallet: (input) => client.ask(of.newWallet, input),
  newPolicy: (input) => client.ask(of.newPolicy, input),
  putUnderPolicies: (input) => client.ask(of.putUnderPolicies, input),
  revokePolicy: (input) => client.ask(of.revokePolicy, input),
  exportKeyring: (input) => client.ask(of.exportKeyring, input),
  changeUserPin: (input) => client.ask(of.changeUserPin, input),
  newRecoveryCode: (input) => client.ask(of.newRecoveryCode, input),
  addPasskeySecret: (input) => client.ask(of.addPasskeySecret, input),
  removeUserSecret: (input) => client.ask(of.removeUserSecret, input),
  userSecrets: (input) => client.ask(of.userSecrets, input),
  changeDeveloperSecret: (input) => client.ask(of.changeDeveloperSecret, input),
  changeFreezes: (input) => client.ask(of.changeFreezes, input),
  status: () => client.ask(of.status, {}),
  unrevokedPolicies: (input) => client.ask(of.unrevokedPolicies, input),
  policyRoom: (input) => client.ask(of.policyRoom, input),
  listPolicies: (input) => client.ask(of.listPolicies, input),
  findWalletOfPolicy: (input) => client.ask(of.findWalletOfPolicy, input),
  unrecorded: () => client.ask(of.unrecorded, {}),
  recentNotes: (input) => client.ask(of.recentNotes, input),
  finishRecording: () => client.ask(of.finishRecording, {}),
})

/** Connects to one or more vaults as an API. @throws Error if the certificate's files cannot be used. */
export const connectVault = (options: ConnectOptions): Remote<Vault> => {
  if (options.tls && options.sockets.some(isByTls)) readTls(options.tls)
  const client = connect(options)
  return { ...apiOf(client), close: client.close }
}

/** Connects as an operator. The sockets are those of `operatorSocketOf`. */
export const connectOperatorVault = (options: ConnectOptions): Remote<OperatorVault> => {
  const client = connect(options)
  return {
    ...apiOf(client),
    newProject: (input) => client.ask(ofOperator.newProject, input),
    activateProject: (input) => client.ask(ofOperator.activateProject, input),
    unlockOwner: (input) => client.ask(ofOperator.unlockOwner, input),
    releaseFromPolicies: (input) => client.ask(ofOperator.releaseFromPolicies, input),
    changeDelegates: (input) => client.ask(ofOperator.changeDelegates, input),
    listDelegates: (input) => client.ask(ofOperator.listDelegates, input),
    rotateRootKey: (input, onProgress) => client.ask(ofOperator.rotateRootKey, input, onProgress),
    rotateProjectKey: (input, onProgress) => client.ask(ofOperator.rotateProjectKey, input, onProgress),
    verifyAudit: (input, onProgress) => client.ask(ofOperator.verifyAudit, input, onProgress),
    forgedRows: (input) => client.ask(ofOperator.forgedRows, input),
    planArchive: (input) => client.ask(ofOperator.planArchive, input),
    archiveLines: (input) => client.ask(ofOperator.archiveLines, input),
    auditCheckpoints: () => client.ask(ofOperator.auditCheckpoints, {}),
    signCheckpoint: (input) => client.ask(ofOperator.signCheckpoint, input),
    dropArchived: (input) => client.ask(ofOperator.dropArchived, input),
    journalState: () => client.ask(ofOperator.journalState, {}),
    retireJournal: (input) => client.ask(ofOperator.retireJournal, input),
    journalNotes: (input) => client.ask(ofOperator.journalNotes, input),
    replayJournal: () => client.ask(ofOperator.replayJournal, {}),
    compactJournal: (input) => client.ask(ofOperator.compactJournal, input),
    finishRestore: () => client.ask(ofOperator.finishRestore, {}),
    close: client.close,
  }
}
