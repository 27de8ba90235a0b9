'use client'

export type { LoginOptions, SessionState, User, UserSession } from '../session.ts'
export { Login, type LoginProps, type LoginTexts } from './login.tsx'
export { StrongroomProvider, useClient, useUser } from './provider.tsx'
export { type FollowedTransaction, useTransaction } from './use-transaction.ts'
export { type UserWallets, useWallets } from './use-wallets.ts'
