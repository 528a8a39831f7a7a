"""stub"""
def validate_openai_responses(request): return []
