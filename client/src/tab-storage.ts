// What a tab of the browser keeps while it lives: sessionStorage, of which other tabs see nothing.

import { isObject } from './provider-error.ts'

/** null where the browser keeps nothing, as some do in private windows or if the user has turned it off. */
const storageOf = (): Storage | null => {
  try {
    return sessionStorage
  } catch {
    return null
  }
}

export const readTab = (name: string): Readonly<Record<string, unknown>> | null => {
  try {
    const value: unknown = JSON.parse(storageOf()?.getItem(name) ?? 'null')
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** @returns whether it is kept */
export const writeTab = (name: string, value: object | null): boolean => {
  try {
    const storage = storageOf()
    if (value === null) storage?.removeItem(name)
    else storage?.setItem(name, JSON.stringify(value))
    return storage !== null
  } catch {
    return false
  }
}

/** What the tab keeps under names that begin so. */
export const readTabAll = (prefix: string): readonly Readonly<Record<string, unknown>>[] => {
  try {
    const names = Object.keys(storageOf() ?? {}).filter((name) => name.startsWith(prefix))
    return names.map(readTab).filter((value) => value !== null)
  } catch {
    return []
  }
}

const places = new Map<string, number>()

/**
 * A name of its own for each of those in this page that would have the same: the second one gets `name 2`, and so on.
 */
export const placeInPage = (name: string): string => {
  const place = (places.get(name) ?? 0) + 1
  places.set(name, place)
  return place === 1 ? name : `${name} ${place}`
}

const LOCK_MS = 2_000

/**
 * Whether this tab alone has what is named, until it ends. A duplicated tab begins with a copy of what its original
 * keeps. A page that is being reloaded may give its lock back a moment later.
 */
export const isOnlyTabWith = (name: string): Promise<boolean> =>
  new Promise((resolve) => {
    // Only pages by HTTPS and of localhost have locks.
    if (navigator.locks === undefined) return resolve(true)
    const held = () => {
      resolve(true)
      return new Promise(() => {})
    }
    navigator.locks.request(name, { signal: AbortSignal.timeout(LOCK_MS) }, held).catch(() => resolve(false))
  })
