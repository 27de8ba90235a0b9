// Tells a user by mail that a way to log in, or to open their wallets, was added or removed, so that they notice a
// theft. The mail goes to the address that they had before, and contains nothing that the caller chose.

import type { HasDb, Tx } from '../../../db/client.ts'
import { requireProjectOfRow } from '../../../db/queries/projects.ts'
import { findUser } from '../../../db/queries/users.ts'
import type { HasClock } from '../../platform/clock.ts'
import type { HasConfig } from '../../platform/config.ts'
import type { HasIdentity, HasSealer } from '../../platform/sealing/sealer.ts'
import { isOurs, userMac } from '../auth/row-macs.ts'
import { lineOf, mailText, queueMail, sendsMail } from '../mail/queue.ts'
import type { HasSecurityEvents } from '../security-events.ts'

/** Long, so that the mail is still sent if no worker runs for some days. */
const LIFETIME_SECONDS = 7 * 86_400

/** Only another credential removes the lock of a passkey's secret, and only the vault knows it. */
const STILL_OPENS =
  'If your wallets were opened with a passkey too, it still opens them until it is removed there as well, with your PIN.'

const WORDS = {
  passkey_added: (project: string) => ({
    subject: `A passkey was added to your login at ${project}`,
    happened: `A passkey was added. It can be used to log in to ${project} as you.`,
    otherwise: 'If it was not you: log in, remove the passkey, and end your other sessions.',
  }),
  passkey_removed: (project: string) => ({
    subject: `A passkey of yours was removed at ${project}`,
    happened: `One of your passkeys was removed. It no longer logs in to ${project}. ${STILL_OPENS}`,
    otherwise: 'If it was not you: log in, check which passkeys are left, and end your other sessions.',
  }),
  passkeys_removed: (project: string) => ({
    subject: `Your passkeys at ${project} were removed`,
    happened: `The operator of the service removed all your passkeys at ${project} and ended your sessions. ${STILL_OPENS}`,
    otherwise: 'If you do not know why, ask the operator.',
  }),
  recovery_code_made: (project: string) => ({
    subject: `A recovery code was made for your wallets at ${project}`,
    happened: `A recovery code was made. It opens your wallets at ${project}, as your PIN does. An earlier code no longer does.`,
    otherwise:
      'If it was not you: somebody knows your PIN. Change it, make another recovery code, and remove passkeys that are not yours.',
  }),
  recovery_code_removed: (project: string) => ({
    subject: `Your recovery code at ${project} was removed`,
    happened: `The recovery code no longer opens your wallets at ${project}.`,
    otherwise: 'If it was not you: somebody knows your PIN. Change it, and remove passkeys that are not yours.',
  }),
  passkey_opens_wallets: (project: string) => ({
    subject: `A passkey opens your wallets at ${project}`,
    happened: `A passkey can now open your wallets at ${project}, as your PIN does.`,
    otherwise:
      'If it was not you: somebody knows your PIN. Change it, remove the passkey, and make another recovery code.',
  }),
  passkey_opens_no_wallets: (project: string) => ({
    subject: `A passkey no longer opens your wallets at ${project}`,
    happened: `One of your passkeys can no longer open your wallets at ${project}.`,
    otherwise: 'If it was not you: somebody knows your PIN. Change it, and make another recovery code.',
  }),
  pin_changed: (project: string) => ({
    subject: `The PIN of your wallets at ${project} was changed`,
    happened: `The PIN of your wallets at ${project} was changed by somebody who had the earlier one.`,
    otherwise: 'If it was not you: set another PIN with your recovery code, and end your other sessions.',
  }),
  /** A process died while it was changed: only the vault knows whether it was. */
  pin_perhaps_changed: (project: string) => ({
    subject: `The PIN of your wallets at ${project} may have been changed`,
    happened: `Somebody began to change the PIN of your wallets at ${project}, and the service stopped before it had ended. The PIN may be the new one. All your sessions were ended.`,
    otherwise: 'If it was not you: set another PIN, with your recovery code if the earlier PIN is not taken.',
  }),
  recovery_code_perhaps_changed: (project: string) => ({
    subject: `The recovery code of your wallets at ${project} may have been changed`,
    happened: `Somebody began to make or remove a recovery code for your wallets at ${project}, and the service stopped before it had ended. An earlier code may no longer open them. If you were shown no new code, make one.`,
    otherwise:
      'If it was not you: somebody knows your PIN. Change it, make another recovery code, and remove passkeys that are not yours.',
  }),
  passkey_perhaps_changed: (project: string) => ({
    subject: `Which passkeys open your wallets at ${project} may have been changed`,
    happened: `Somebody began to change which passkeys open your wallets at ${project}, and the service stopped before it had ended. See the list of what opens them.`,
    otherwise:
      'If it was not you: somebody knows your PIN. Change it, remove passkeys that are not yours, and make another recovery code.',
  }),
  pin_set_anew: (project: string) => ({
    subject: `The PIN of your wallets at ${project} was set anew`,
    happened: `A recovery code or a passkey was used to set a new PIN for your wallets at ${project}.`,
    otherwise: 'If it was not you: set another PIN with your recovery code, and make another code.',
  }),
}

export type ChangedWay = keyof typeof WORDS

const timeOf = (at: Date): string => `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`

/** Queues a mail to the user in the caller's transaction. Does nothing if the user has no address. */
export const mailWayChanged = async (
  ctx: HasConfig & HasSealer & HasClock,
  tx: Tx,
  input: {
    readonly projectId: string
    /** The address that the user had before. */
    readonly email: string | null
    readonly change: ChangedWay
  },
): Promise<void> => {
  const { projectId, email: recipient, change } = input
  if (recipient === null || !sendsMail(ctx)) return
  const project = await requireProjectOfRow(tx, input)
  const { subject, happened, otherwise } = WORDS[change](lineOf(project.name))
  const when = `When: ${timeOf(ctx.now())}. If it was you, there is nothing to do.`
  const text = mailText([happened, when, otherwise])
  await queueMail(ctx, tx, { projectId, recipient, subject, text, lifetimeSeconds: LIFETIME_SECONDS })
}

/** Mails to the user's present address. Does nothing for an unknown user, and for a forged row. */
export const mailUser = async (
  ctx: Parameters<typeof mailWayChanged>[0] & HasDb & HasIdentity & HasSecurityEvents,
  tx: Tx,
  input: { readonly projectId: string; readonly userId: string; readonly change: ChangedWay },
): Promise<void> => {
  const { projectId, userId, change } = input
  const user = await findUser(tx, { projectId, by: { id: userId } })
  if (user === null || !isOurs(ctx, userMac(ctx.identity), user)) return
  await mailWayChanged(ctx, tx, { projectId, email: user.email, change })
}
