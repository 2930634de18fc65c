import { LabError } from '../model/lab-error.js'
import { requireValid } from './check.js'
import { mapWith, type Schema } from './schema.js'

/** The schemas of the arguments of a method by name, in order. The name of an optional argument ends in `?`. */
type Arguments = Readonly<Record<string, Schema>>

type Method = (...given: unknown[]) => unknown

const AsyncFunction = (async () => undefined).constructor

/**
 * Makes methods check their arguments, which the compiler does not check in JavaScript. For an invalid argument, a
 * method throws LabError `usage`, and an asynchronous method rejects with it.
 */
export const checkArguments = <T extends object>(on: T, methods: { readonly [Name in keyof T]?: Arguments }): void => {
  for (const [method, schemas] of Object.entries<Arguments | undefined>(methods)) {
    const run = Reflect.get(on, method) as Method
    const entries = Object.entries(schemas ?? {}).map(([key, schema]) => [key.replace('?', ''), schema] as const)
    const required = Object.keys(schemas ?? {}).filter((key) => !key.endsWith('?'))
    const schema = mapWith(Object.fromEntries(entries), required)
    const checked = (self: T, given: unknown[]) => {
      requireValid(method, schema, Object.fromEntries(entries.map(([name], index) => [name, given[index]])), 'the call')
      return run.apply(self, given)
    }
    const value =
      run instanceof AsyncFunction
        ? async function (this: T, ...given: unknown[]): Promise<unknown> {
            return checked(this, given)
          }
        : function (this: T, ...given: unknown[]): unknown {
            return checked(this, given)
          }
    Object.defineProperty(on, method, { value, configurable: true, writable: true })
  }
}

/**
 * Defines properties that throw LabError `usage` with a reason when they are read. The types lack these features of
 * other labs, but JavaScript callers may use them. `whose`: the object in the message. `reasons`: by the name of the
 * property.
 */
export const refuse = (on: object, whose: string, reasons: Readonly<Record<string, string>>): void => {
  for (const [name, why] of Object.entries(reasons))
    Object.defineProperty(on, name, {
      get: () => {
        throw new LabError('usage', `${whose} does not support "${name}": ${why}`)
      },
    })
}
