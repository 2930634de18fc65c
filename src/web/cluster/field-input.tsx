import { useId } from 'preact/hooks'
import type { Field } from './acts.js'

interface FieldInputProps {
  readonly field: Field
  readonly value: string
  readonly onChange: (value: string) => void
}

/** A labeled input for a field of any kind. */
export const FieldInput = ({ field, value, onChange }: FieldInputProps) => {
  const id = useId()
  const hint = field.hint === undefined ? {} : { 'aria-describedby': `${id}-hint` }
  return (
    <div class={`field of-${field.kind}`}>
      <label for={id}>
        {field.label}
        {field.isRequired && <span class="needed"> (needed)</span>}
      </label>
      <Input field={field} value={value} onChange={onChange} place={{ id, ...hint }} />
      {field.hint && (
        <span class="hint" id={`${id}-hint`}>
          {field.hint}
        </span>
      )}
    </div>
  )
}

interface InputProps extends FieldInputProps {
  /** The attributes that connect the input with its label. */
  readonly place: { readonly id: string; readonly 'aria-describedby'?: string }
}

/** Disables autofill, spell checking and automatic capitalization, because input may be secret. */
const QUIET = { autocomplete: 'off', spellcheck: false, autocapitalize: 'off' } as const

const Input = ({ field: { kind, choices = [] }, value, onChange, place }: InputProps) => {
  switch (kind) {
    case 'check':
      return (
        <input
          {...place}
          type="checkbox"
          checked={value === 'true'}
          onChange={({ currentTarget }) => onChange(currentTarget.checked ? 'true' : '')}
        />
      )
    case 'choice':
      return (
        <select {...place} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
          {choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      )
    case 'lines':
    case 'json':
    case 'long':
      return (
        <textarea
          {...place}
          {...QUIET}
          rows={kind === 'lines' ? 3 : 8}
          value={value}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )
    case 'secret':
      return (
        <input
          {...place}
          {...QUIET}
          type="password"
          autocomplete="new-password"
          value={value}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )
    default:
      return (
        <input
          {...place}
          {...QUIET}
          type="text"
          inputMode={kind === 'number' ? 'numeric' : 'text'}
          value={value}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )
  }
}
